// What memory a caller's buffer lies in, and whether other ranks can be given it.
#pragma once

#include <cstdint>

#include "runtime/cuda/device/device.h"

namespace tilepost::cuda {

// An allocation of the caller's.
struct CallerMemory {
  char* base = nullptr;
  int64_t bytes = 0;
  unsigned long long id = 0;  // no other allocation of the process ever has the same
};

// Finds the allocation in which the `bytes` bytes at `buffer` lie. Ranks can be given memory of
// cudaMalloc. Within a process peer access opens it; for other processes its handle does, where
// CUDA has one for it. All other memory is refused, with what it is and what to do:
// TILEPOST_UNSUPPORTED for memory of the device, TILEPOST_INVALID_ARGUMENT for any other. `known`
// is some memory of cudaMalloc on the device. It shows whether CUDA has handles at all: only then
// does the lack of one tell the buffer from memory of cudaMalloc.
tilepost_result_t find_caller_memory(const Driver& driver, int device, const void* known,
                                     const void* buffer, int64_t bytes, CallerMemory& memory);

// Whether the allocation at `pointer` is still the one that has this id.
bool is_still_there(const Driver& driver, const void* pointer, unsigned long long id);

}  // namespace tilepost::cuda
