// tunable: TILE_N=128
#include <tilepost/mark.cuh>
constexpr int kTileM = tilepost::tunable("TILE_M", 64);
__global__ void gemm(float* c) {
  tilepost::out(c, kTileM, 0, 1) = 1;
  tilepost::tile_done({}, tilepost::BlockStores{});
}
// expect: error: tunable_unknown.cu: no tilepost::tunable declares 'TILE_N', which the plan sets, did you mean 'TILE_M'?
