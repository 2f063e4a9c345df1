// From slot order to row-major: what a plan with the tile layout and the consumer 'unpermute' does
// with each group after its collective.
#pragma once

#include <cuda_runtime_api.h>

#include "tilepost/plan.h"

namespace tilepost::cuda {

struct UnpermuteArguments {
  const void* slots;             // send buffer: slots of tile_m x tile_n 16-bit elements
  void* out;                     // [m, n] row-major
  const tilepost_tile_t* tiles;  // the schedule, on the device
  int32_t first_tile, num_tiles;
  int32_t m, n, tile_m, tile_n;
};

// Loads every variant of the kernel.
cudaError_t preload_unpermute();

// Copies tiles [first_tile, first_tile + num_tiles), padding skipped, edges clipped. Uses the
// widest accesses that n and tile_n allow; both pointers are 16-byte aligned.
cudaError_t launch_unpermute(const UnpermuteArguments& arguments, cudaStream_t stream);

}  // namespace tilepost::cuda
