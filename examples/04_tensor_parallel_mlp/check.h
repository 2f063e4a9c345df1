// Ends the program with the library's words where a call fails.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <tilepost/tilepost.h>

#include <cstdio>
#include <cstdlib>

[[noreturn]] inline void stop(const char* what, const char* why) {
  std::fprintf(stderr, "%s: %s\n", what, why);
  std::exit(1);
}
inline void check(tilepost_result_t result) {
  if (result != TILEPOST_OK) stop(tilepost_result_name(result), tilepost_last_error());
}
inline void check(cudaError_t error) {
  if (error != cudaSuccess) stop("CUDA", cudaGetErrorString(error));
}
inline void check(ncclResult_t result) {
  if (result != ncclSuccess) stop("NCCL", ncclGetErrorString(result));
}
inline void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) stop("cuBLAS", cublasGetStatusString(status));
}
