// Sorts rows of A, or their scales, by destination rank. A run of a plan with routing rows sorts
// its rows before it sends any of them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tilepost::cuda {

struct PackArguments {
  const void* rows;
  void* packed;          // row i of `packed` is row order[i] of `rows`
  const int32_t* order;  // [count], on the device
  int64_t count;         // at least 1
  int64_t row_bytes;
};

// Loads every variant of the kernel.
cudaError_t preload_pack();

// Uses the widest accesses, of at most 16 bytes, that row_bytes and both pointers allow.
cudaError_t launch_pack(const PackArguments& arguments, cudaStream_t stream);

}  // namespace tilepost::cuda
