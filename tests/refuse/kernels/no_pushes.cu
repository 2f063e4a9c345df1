#include <tilepost/mark.cuh>
__global__ void gemm(float* c) {
  tilepost::out(c, 0, 0, 1) = 1;
  tilepost::tile_done({}, tilepost::BlockStores{});
}
// spreads
// expect: 2:17: error: kernel 'gemm' reaches no tilepost::num_pushes, push_map or stores_done: the plan has it store finished tiles with other ranks; mark where it does
