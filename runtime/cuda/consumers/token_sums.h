// Sums the rows of tokens (TILEPOST_GROUPED_GEMM_COMBINE) where steps behind it add up ranks' sums:
// makes the tiles of a run's map from rows of experts, stores them where the map or their owners
// have them, and raises the counters of their groups, as a GEMM of another pattern does with its
// tiles. It comes behind the GEMM.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "tilepost/internal/token_sums.h"

namespace tilepost::cuda {

struct TokenSumArguments {
  TokenSums sums;
  const void* products;  // [rows of experts, n], 16-bit elements
  const void* residual;  // [share, n], or null
  int32_t n, tile_n;     // n is a multiple of 8
  const tilepost_tile_t* tiles;
  int32_t num_tiles;
  // Where rows go. If owner_rows is 0, tiles go to `out` at their `row`, and raise `counters`.
  // Otherwise row r of the map goes to owner r / owner_rows, into peer_out there, and the tile
  // raises the owner's counters.
  int32_t owner_rows;
  void* out;
  uint32_t* counters;
  void* const* peer_out;
  uint32_t* const* peer_counters;
};

cudaError_t preload_token_sums(tilepost_dtype_t type);

// All pointers to elements are aligned to 16 bytes. A block fills one of the device's `sms` SMs.
cudaError_t launch_token_sums(const TokenSumArguments& arguments, tilepost_dtype_t type, int sms,
                              cudaStream_t stream);

}  // namespace tilepost::cuda
