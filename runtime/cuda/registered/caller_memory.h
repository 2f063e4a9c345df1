// Finds the allocation in which a caller's buffer lies, and whether other ranks can be given it.
#pragma once

#include <cstdint>

#include "runtime/cuda/device/device.h"

namespace tilepost::cuda {

// An allocation of the caller's.
struct CallerMemory {
  char* base = nullptr;
  int64_t bytes = 0;
  unsigned long long id = 0;  // no other allocation of the process ever has the same id
};

// Finds the allocation in which the `bytes` bytes at `buffer` lie. Ranks can be given memory of
// cudaMalloc. Within a process peer access opens it. Other processes open it by its handle, if CUDA
// has one for it. All other memory is refused: TILEPOST_UNSUPPORTED for memory of the device,
// TILEPOST_INVALID_ARGUMENT for any other. The error names the kind of memory and the remedy.
// `known` is some memory of cudaMalloc on the device. It shows whether CUDA has handles on this
// system. Only then does the lack of a handle show that the buffer is not memory of cudaMalloc.
tilepost_result_t find_caller_memory(const Driver& driver, int device, const void* known,
                                     const void* buffer, int64_t bytes, CallerMemory& memory);

// Whether the allocation at `pointer` still has this id.
bool is_still_there(const Driver& driver, const void* pointer, unsigned long long id);

}  // namespace tilepost::cuda
