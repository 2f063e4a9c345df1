// tunable: TILE_M=100
#include <tilepost/mark.cuh>
constexpr int kTileM = tilepost::tunable("TILE_M", 64);
static_assert(kTileM % 64 == 0, "TILE_M is a multiple of 64");
__global__ void gemm(float* c) {
  tilepost::out(c, kTileM, 0, 1) = 1;
  tilepost::tile_done({}, tilepost::BlockStores{});
}
// expect: 4:15: error: static assertion failed due to requirement 'kTileM % 64 == 0': TILE_M is a multiple of 64
