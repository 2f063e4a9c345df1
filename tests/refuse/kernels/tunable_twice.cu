#include <tilepost/mark.cuh>
constexpr int kTileM = tilepost::tunable("TILE_M", 64);
constexpr int kRows = tilepost::tunable("TILE_M", 128);
__global__ void gemm(float* c) {
  tilepost::out(c, kTileM, kRows, 1) = 1;
  tilepost::tile_done({}, tilepost::BlockStores{});
}
// expect: 3:23: error: tunable 'TILE_M' falls back to '128' here and to '64' elsewhere; use one constant for both
// expect: 2:24: note: the other one is here
