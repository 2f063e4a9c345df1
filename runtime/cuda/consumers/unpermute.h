// Copies from the tile layout to row-major order. A plan with the consumer 'unpermute' copies each
// group after the group's collective.
#pragma once

#include <cuda_runtime_api.h>

#include "tilepost/plan.h"

namespace tilepost::cuda {

// TILEPOST_DIVISION_ROWS: tiles in slot order.
struct UnpermuteArguments {
  const void* slots;             // slots of tile_m x tile_n 16-bit elements
  void* out;                     // [m, n] row-major
  const tilepost_tile_t* tiles;  // the schedule, on the device
  int32_t first_tile, num_tiles;
  int32_t m, n, tile_m, tile_n;
};

// TILEPOST_DIVISION_COLUMNS: slabs of whole rows, in one block of slabs for each source rank. A
// rank's rows of a sum count as one source.
struct SlabArguments {
  static constexpr int kMostSources = 64;

  const void* slabs;
  void* out;           // [first_row[sources], n] row-major
  int32_t first, end;  // tile columns
  int32_t n, tile_n;
  int32_t sources;
  int32_t most_rows;                    // the most rows of any source
  int32_t height;                       // rows of a slab; 0 if a slab has its source's rows
  int32_t first_row[kMostSources + 1];  // [sources + 1] the first row of each source in out, and
                                        // then the number of rows
};

// Loads every variant of the kernels.
cudaError_t preload_unpermute();

// Copies tiles [first_tile, first_tile + num_tiles). Padding tiles are skipped, and tiles at the
// edges are clipped. Uses the widest accesses that n and tile_n allow. Both pointers must be
// aligned to 16 bytes.
cudaError_t launch_unpermute(const UnpermuteArguments& arguments, cudaStream_t stream);

// Copies tile columns [first, end) of all sources. Accesses and alignment are those of
// launch_unpermute().
cudaError_t launch_unpermute_slabs(const SlabArguments& arguments, cudaStream_t stream);

}  // namespace tilepost::cuda
