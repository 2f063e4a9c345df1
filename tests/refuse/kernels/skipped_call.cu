#include <tilepost/mark.cuh>
__device__ void store(float* c) { tilepost::out(c, 0, 0, 1) = 1; }
__global__ void gemm(float* c) {
#if __CUDA_ARCH__ < 800
  store(c);
#endif
  store(c + 1);
  tilepost::tile_done({}, tilepost::BlockStores{});
}
// expect: 5:3: error: the preprocessor leaves out this use of 'store', which carries a mark, when the kernel is woven
