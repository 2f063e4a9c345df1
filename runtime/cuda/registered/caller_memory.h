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
// cudaMalloc: its handle opens it in other processes, and within a process peer access does. All
// else is refused, with what it is and what to do: TILEPOST_UNSUPPORTED for memory of the device,
// TILEPOST_INVALID_ARGUMENT for other.
tilepost_result_t find_caller_memory(const Driver& driver, int device, const void* buffer,
                                     int64_t bytes, CallerMemory& memory);

// Whether the allocation at `pointer` is still the one of this number.
bool is_still_there(const Driver& driver, const void* pointer, unsigned long long id);

}  // namespace tilepost::cuda
