// tunable: TILE_M=tilepost::DType::f16
#include <tilepost/mark.cuh>
constexpr int kTileM = tilepost::tunable("TILE_M", 64);
__global__ void gemm(float* c) {
  tilepost::out(c, kTileM, 0, 1) = 1;
  tilepost::tile_done({}, tilepost::BlockStores{});
}
// expect: 3:24: error: tunable 'TILE_M' is of type 'int' here, which 'tilepost::DType::f16' is no value of
