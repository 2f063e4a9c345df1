#include <tilepost/mark.cuh>
__device__ void store(float* c, int row = tilepost::num_tiles({})) {
  tilepost::out(c, row, 0, 1) = 1;
}
__global__ void gemm(float* c) {
  store(c);
  tilepost::tile_done({}, tilepost::BlockStores{});
}
// expect: 2:43: error: the mark 'num_tiles' is used in a default argument; pass it at the call
