// Turns failures of CUDA and NCCL into results. The macros here are thin. check.cpp makes the text.
//
// The text reads "file:line: call → NAME: reason". CUDA's own last error is cleared, so that a
// failure reported here does not surface again in the caller's next cudaGetLastError().
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "runtime/core/error.h"

namespace tilepost::cuda {

// A place in the code and the call there, such as "runtime/cuda/op/op.cpp:12: cudaMalloc(&p, n)".
struct Place {
  const char* file;
  int line;
  const char* call;
};

// Stores the text and returns TILEPOST_CUDA_ERROR, or TILEPOST_OUT_OF_MEMORY.
tilepost_result_t fail_cuda(const Place& place, cudaError_t error);
// The driver's entry points return CUresult, whose values are those of cudaError_t.
tilepost_result_t fail_driver(const Place& place, int error);
// Stores the text, with NCCL's last error, and returns TILEPOST_NCCL_ERROR.
tilepost_result_t fail_nccl(const Place& place, ncclResult_t error);

}  // namespace tilepost::cuda

#define TILEPOST_PLACE(call) (::tilepost::cuda::Place{__FILE__, __LINE__, #call})

// Each macro returns from the enclosing function if the call fails.
#define TILEPOST_CUDA(call)                                             \
  do {                                                                  \
    if (const cudaError_t error_ = (call); error_ != cudaSuccess)       \
      return ::tilepost::cuda::fail_cuda(TILEPOST_PLACE(call), error_); \
  } while (false)

#define TILEPOST_NCCL(call)                                             \
  do {                                                                  \
    if (const ncclResult_t error_ = (call); error_ != ncclSuccess)      \
      return ::tilepost::cuda::fail_nccl(TILEPOST_PLACE(call), error_); \
  } while (false)

#define TILEPOST_DRIVER(call)                                             \
  do {                                                                    \
    if (const int error_ = (call); error_ != 0)                           \
      return ::tilepost::cuda::fail_driver(TILEPOST_PLACE(call), error_); \
  } while (false)
