#include "runtime/cuda/device/resources.h"

#include <cstring>

namespace tilepost::cuda {

tilepost_result_t make_pinned_memory(PinnedMemory& memory, size_t bytes) {
  TILEPOST_CUDA(
      cudaHostAlloc(memory.out(bytes), bytes, cudaHostAllocPortable | cudaHostAllocMapped));
  std::memset(memory.get(), 0, bytes);
  return TILEPOST_OK;
}

tilepost_result_t make_stream(Stream& stream, bool highest_priority) {
  int lowest = 0, highest = 0;
  TILEPOST_CUDA(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  TILEPOST_CUDA(cudaStreamCreateWithPriority(stream.out(), cudaStreamNonBlocking,
                                             highest_priority ? highest : lowest));
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
