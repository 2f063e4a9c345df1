// What ends the measurement of one program.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

#include "tilepost/tilepost.h"

namespace tilepost::bench {

struct BenchError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Each throws BenchError with the call and the library's words unless the result is success.
void check_cuda(cudaError_t error, const char* call);
void check_tilepost(tilepost_result_t result, const char* call);
void check_status(int status, const char* call);  // of cuBLASLt and NCCL, where 0 is success

}  // namespace tilepost::bench

#define TILEPOST_BENCH_CUDA(call) ::tilepost::bench::check_cuda((call), #call)
#define TILEPOST_BENCH_STATUS(call) ::tilepost::bench::check_status(static_cast<int>(call), #call)
