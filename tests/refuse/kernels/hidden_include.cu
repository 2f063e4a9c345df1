#include <tilepost/mark.cuh>
#ifdef OTHER
#include <cute/tensor.hpp>
constexpr int kRow = 1;
#else
constexpr int kRow = 0;
#endif
__global__ void gemm(float* c) {
  tilepost::out(c, kRow, 0, 1) = 1;
  tilepost::tile_done({}, tilepost::BlockStores{});
}
// expect: 3:1: error: an #include that the preprocessor leaves out cannot be woven; include it unconditionally or remove it
