// Device memory of the harness.
#pragma once

#include <vector>

#include "runtime/bench/error.h"
#include "runtime/cuda/device/resources.h"

namespace tilepost::bench {

// Freed with its owner. Throws BenchError.
inline cuda::DeviceMemory allocate(int64_t bytes) {
  cuda::DeviceMemory memory;
  check_tilepost(cuda::make_device_memory(memory, static_cast<size_t>(bytes)), "cudaMalloc");
  return memory;
}

// A copy of `values` on the device; nothing if there are none. Throws BenchError.
template <class T>
cuda::DeviceMemory upload(const std::vector<T>& values) {
  cuda::DeviceMemory memory;
  if (values.empty()) return memory;
  const size_t bytes = values.size() * sizeof(T);
  memory = allocate(static_cast<int64_t>(bytes));
  TILEPOST_BENCH_CUDA(cudaMemcpy(memory.get(), values.data(), bytes, cudaMemcpyHostToDevice));
  return memory;
}

}  // namespace tilepost::bench
