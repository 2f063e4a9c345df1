#include <tilepost/mark.cuh>
void gemm(float* c) {
  tilepost::out(c, 0, 0, 1) = 1;
  tilepost::tile_done({}, tilepost::BlockStores{});
  auto self = gemm;
}
// expect: 5:15: error: the kernel 'gemm' is launched or named by code it reaches itself; that cannot be woven
