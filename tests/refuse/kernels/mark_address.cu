#include <tilepost/mark.cuh>
__global__ void gemm(float* c) {
  const auto count = &tilepost::num_tiles;
  tilepost::out(c, count({}), 0, 1) = 1;
  tilepost::tile_done({}, tilepost::BlockStores{});
}
// expect: 3:23: error: the address of the mark 'num_tiles' is taken; call it by name
