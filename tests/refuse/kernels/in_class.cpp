#include <tilepost/mark.cuh>
struct Kernels {
  static void gemm(float* c) {
    tilepost::out(c, 0, 0, 1) = 1;
    tilepost::tile_done({}, tilepost::BlockStores{});
  }
};
// expect: 3:15: error: kernel 'gemm' is inside class 'Kernels'; move it
