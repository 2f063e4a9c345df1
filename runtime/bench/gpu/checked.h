// Checks of calls to CUDA and to libraries, and device memory that is made with them. A call that
// fails ends the measurement of the program.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/cuda/device/resources.h"
#include "tilepost/tilepost.h"

#define TILEPOST_BENCH_CUDA(call) ::tilepost::bench::check_cuda((call), #call)
#define TILEPOST_BENCH_STATUS(call) ::tilepost::bench::check_status(static_cast<int>(call), #call)

namespace tilepost::bench {

// The error that ends the measurement of one program.
struct BenchError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throw BenchError with the call and the library's message unless the result is success.
void check_cuda(cudaError_t error, const char* call);
void check_tilepost(tilepost_result_t result, const char* call);
void check_status(int status, const char* call);  // for cuBLASLt and NCCL, where 0 is success

// Device memory that is freed with its owner. Throws BenchError.
inline cuda::DeviceMemory allocate(int64_t bytes) {
  cuda::DeviceMemory memory;
  check_tilepost(cuda::make_device_memory(memory, static_cast<size_t>(bytes)), "cudaMalloc");
  return memory;
}

// A copy of `values` on the device. Null if there are no values. Throws BenchError.
template <class T>
cuda::DeviceMemory upload(const std::vector<T>& values) {
  cuda::DeviceMemory memory;
  if (values.empty()) return memory;
  const size_t bytes = values.size() * sizeof(T);
  memory = allocate(static_cast<int64_t>(bytes));
  TILEPOST_BENCH_CUDA(cudaMemcpy(memory.get(), values.data(), bytes, cudaMemcpyHostToDevice));
  return memory;
}

// The number at `number` in device memory, once all work of the stream has ended. Throws
// BenchError. It waits before it copies: a copy into memory that is not pinned waits within the
// driver, which starts no other copy meanwhile, also none of those by which NCCL may go on
// (NCCL_SHM_USE_CUDA_MEMCPY=1).
unsigned long long read_number(const void* number, cudaStream_t stream);

}  // namespace tilepost::bench
