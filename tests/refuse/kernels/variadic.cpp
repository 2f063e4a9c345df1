#include <tilepost/mark.cuh>
void gemm(float* c, ...) {
  tilepost::out(c, 0, 0, 1) = 1;
  tilepost::tile_done({}, tilepost::BlockStores{});
}
// expect: 2:6: error: variadic function 'gemm' cannot take the view as its last parameter; name its parameters
