// Copies gathered rows of A, or the scales that have moved with them, to the memory that the caller
// passed for them, after a kernel that is a whole run. Only the device knows in which of two places
// the rows of the run are (RunPath::places_of_rows).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tilepost::cuda {

struct HandOutArguments {
  const void* places;   // the first of the two places
  int64_t apart;        // bytes from the first place to the second
  const uint32_t* run;  // the number of the run, on the device; its parity selects the place
  void* to;
  int64_t first, end;  // bytes [first, end) of the place, and of `to`; at least one unit
};

// Loads the kernels.
cudaError_t preload_hand_out();

// All pointers and bytes are multiples of 4. Where all are multiples of 16, as rows of A are, 16
// bytes are copied at a time.
cudaError_t launch_hand_out(const HandOutArguments& arguments, cudaStream_t stream);

}  // namespace tilepost::cuda
