#include <tilepost/mark.cuh>
__global__ void gemm(float* c) {
  tilepost::out(c, 0, 0, 1) = undeclared;
  tilepost::tile_done({}, tilepost::BlockStores{})
}
// expect: 3:31: error: use of undeclared identifier 'undeclared'
// expect: 4:51: error: expected ';' after expression
