// Rows of A that have come together, to where the caller wants them, behind a kernel that is a
// whole run: only the device knows in which of two places they are (RunPath::places_of_rows).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tilepost::cuda {

struct HandOutArguments {
  const void* places;   // the first of two,
  int64_t apart;        // so many bytes before the second
  const uint32_t* run;  // the number of the run, on the device; its parity says which
  void* to;
  int64_t first, end;  // bytes, multiples of 16, of `to` as of a place; not none
};

// Loads the kernel.
cudaError_t preload_hand_out();

// All pointers are 16-byte aligned.
cudaError_t launch_hand_out(const HandOutArguments& arguments, cudaStream_t stream);

}  // namespace tilepost::cuda
