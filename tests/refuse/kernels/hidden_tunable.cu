#include <tilepost/mark.cuh>
#ifdef OTHER
constexpr int kRow = tilepost::tunable("ROW", 1);
#else
constexpr int kRow = 0;
#endif
__global__ void gemm(float* c) {
  tilepost::out(c, kRow, 0, 1) = 1;
  tilepost::tile_done({}, tilepost::BlockStores{});
}
// expect: 3:22: error: the preprocessor leaves out this 'tunable' when the kernel is woven
