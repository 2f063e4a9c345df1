// Copies gathered rows of A to where the caller wants them, behind a kernel that is a whole run.
// Only the device knows in which of two places such rows are (RunPath::places_of_rows).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tilepost::cuda {

struct HandOutArguments {
  const void* places;   // the first of the two
  int64_t apart;        // bytes from the first place to the second
  const uint32_t* run;  // the number of the run, on the device; its parity says which place
  void* to;
  int64_t first, end;  // bytes in `to` as in a place; multiples of 16, not an empty range
};

// Loads the kernel.
cudaError_t preload_hand_out();

// All pointers are 16-byte aligned.
cudaError_t launch_hand_out(const HandOutArguments& arguments, cudaStream_t stream);

}  // namespace tilepost::cuda
