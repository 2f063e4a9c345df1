#include "runtime/cuda/device/check.h"

#include <cstring>

namespace tilepost::cuda {
namespace {

// The path from the repository's root on, whatever path the compiler was given.
const char* short_path(const char* file) {
  const char* found = std::strstr(file, "runtime/cuda/");
  return found ? found : file;
}

}  // namespace

tilepost_result_t fail_cuda(const Place& place, cudaError_t error) {
  cudaGetLastError();
  const tilepost_result_t result =
      error == cudaErrorMemoryAllocation ? TILEPOST_OUT_OF_MEMORY : TILEPOST_CUDA_ERROR;
  return fail(result, "%s:%d: %s → %s: %s", short_path(place.file), place.line, place.call,
              cudaGetErrorName(error), cudaGetErrorString(error));
}

tilepost_result_t fail_driver(const Place& place, int error) {
  return fail_cuda(place, static_cast<cudaError_t>(error));
}

tilepost_result_t fail_nccl(const Place& place, ncclResult_t error) {
  const char* last = ncclGetLastError(nullptr);
  const bool has_last = last != nullptr && *last != '\0';
  return fail(TILEPOST_NCCL_ERROR, "%s:%d: %s → %s%s%s", short_path(place.file), place.line,
              place.call, ncclGetErrorString(error), has_last ? ": " : "", has_last ? last : "");
}

}  // namespace tilepost::cuda
