// The kernel has a block for every other rank. Additions are relaxed, because the test only looks
// for lost ones. The fence hands on all of them before the kernel's end, after which the ranks meet
// (PTX ISA 8.9.5, Causality Order).
#include "runtime/cuda/device/kernel_launch.cuh"
#include "runtime/cuda/shared/access_test.h"
#include "tilepost/device/ptx.cuh"

namespace tilepost::cuda {
namespace {

__global__ void __launch_bounds__(kAccessTestThreads) access_test_kernel(AccessTest test) {
  const int peer = (test.rank + 1 + static_cast<int>(blockIdx.x)) % test.ranks;
  uint32_t* const words = test.of[peer];
  for (uint32_t i = 0; i < kAddsPerThread; ++i) ptx::red_relaxed_sys(words, 1);
  if (threadIdx.x == 0) ptx::store_release_sys(words + 1 + test.rank, stored_by(test.rank));
  __threadfence_system();
}

}  // namespace

cudaError_t launch_access_test(const AccessTest& test, cudaStream_t stream) {
  if (test.ranks == 1) return cudaSuccess;
  return launch_kernel(access_test_kernel, dim3(static_cast<unsigned>(test.ranks - 1)),
                       dim3(kAccessTestThreads), stream, test);
}

}  // namespace tilepost::cuda
