#include "runtime/bench/gpu/checked.h"

namespace tilepost::bench {

void check_cuda(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  throw BenchError(std::string(call) + ": " + cudaGetErrorString(error));
}

void check_tilepost(tilepost_result_t result, const char* call) {
  if (result == TILEPOST_OK) return;
  throw BenchError(std::string(call) + ": " + tilepost_result_name(result) + ": " +
                   tilepost_last_error());
}

void check_status(int status, const char* call) {
  if (status != 0) throw BenchError(std::string(call) + ": status " + std::to_string(status));
}

unsigned long long read_number(const void* number, cudaStream_t stream) {
  unsigned long long value = 0;
  TILEPOST_BENCH_CUDA(cudaStreamSynchronize(stream));
  TILEPOST_BENCH_CUDA(
      cudaMemcpyAsync(&value, number, sizeof value, cudaMemcpyDeviceToHost, stream));
  TILEPOST_BENCH_CUDA(cudaStreamSynchronize(stream));
  return value;
}

}  // namespace tilepost::bench
