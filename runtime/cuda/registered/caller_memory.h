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

// The allocation in which the `bytes` at `buffer` lie. What ranks can be given is memory of
// cudaMalloc: within a process peer access opens it, and in other processes its handle, where CUDA
// has one for it. All else is refused, with what it is and what to do: TILEPOST_UNSUPPORTED for
// memory of the device, TILEPOST_INVALID_ARGUMENT for other. `known`: some memory of cudaMalloc on
// the device, by which the buffer is told from other memory where CUDA has no handles.
tilepost_result_t find_caller_memory(const Driver& driver, int device, const void* known,
                                     const void* buffer, int64_t bytes, CallerMemory& memory);

// Whether the allocation at `pointer` is still the one of this number.
bool is_still_there(const Driver& driver, const void* pointer, unsigned long long id);

}  // namespace tilepost::cuda
