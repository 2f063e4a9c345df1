// Loading and launching the runtime's small kernels.
#pragma once

#include <cuda_runtime.h>

namespace tilepost::cuda {

// Loads a kernel before any kernel waits, since loading may have to wait for running kernels.
inline cudaError_t preload_kernel(const void* kernel) {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, kernel);
}

// Loads a kernel that runs beside a GEMM. An SM changes its split of L1 and shared memory only when
// it is idle. So the kernel asks for the split of the GEMM. If the kernel gets to an SM first, it
// does not keep the GEMM's CTA out, and it can join other small kernels on an SM.
inline cudaError_t preload_beside_gemm(const void* kernel) {
  if (const auto error = preload_kernel(kernel); error != cudaSuccess) return error;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                              cudaSharedmemCarveoutMaxShared);
}

template <class... Parameters, class... Arguments>
cudaError_t launch_kernel(void (*kernel)(Parameters...), dim3 blocks, dim3 threads,
                          cudaStream_t stream, const Arguments&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

// As launch_kernel, for blocks that wait for each other: the launch begins when there is room for
// all of them (a cooperative launch).
template <class... Parameters, class... Arguments>
cudaError_t launch_together(void (*kernel)(Parameters...), dim3 blocks, dim3 threads,
                            cudaStream_t stream, const Arguments&... arguments) {
  cudaLaunchAttribute together{};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = stream;
  config.attrs = &together;
  config.numAttrs = blocks.x > 1 ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace tilepost::cuda
