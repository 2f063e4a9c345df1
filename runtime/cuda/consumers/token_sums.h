// Sums the rows of tokens (TILEPOST_GROUPED_GEMM_COMBINE): makes the tiles of a run's map from rows
// of experts, stores them where the map or their owners have them, and raises the counters of their
// groups, as a GEMM of another pattern does with its tiles.
//
// Either one launch behind the GEMM makes all tiles. Or a launch beside the GEMM, on few SMs, takes
// tiles of the panels that the GEMM has finished, and a launch behind the GEMM helps with what is
// left: both draw tickets from one counter.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "tilepost/internal/token_sums.h"

namespace tilepost::cuda {

// The words of an operation that sums tokens beside the GEMM. They are zero between runs.
struct TokenSumWords {
  static constexpr int kMostPanels = 16;
  uint32_t panels[kMostPanels * TILEPOST_COUNTER_STRIDE];  // the counters of panels
  uint32_t ticket;                                         // the next tile
  uint32_t blocks;                                         // how many blocks have finished
};

// How tiles are shared by launches beside the GEMM and behind it. `words` null: they are not.
struct TokenSumPanels {
  TokenSumWords* words;
  int32_t all_blocks;     // of all launches of the run
  int32_t panel_columns;  // tile columns of a panel; 0: all products are there
  int32_t raised;         // what a tile of the GEMM raises its panel's counter by
  const int32_t* expert_ends;
  int32_t experts, rows;  // rows: of experts at most
  // Where tiles are in the schedule: [ranks * share_tiles, columns].
  const int32_t* positions;
  int32_t ranks, share_tiles, columns;
};

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
  TokenSumPanels panels;
};

cudaError_t preload_token_sums(tilepost_dtype_t type);

// How many blocks a launch behind the GEMM has, on a device with `sms` SMs. A block fills an SM.
int blocks_behind(const TokenSumArguments& arguments, int sms);

// Launches a small kernel that ends when the GEMM has stored the first panel. What follows it in
// the stream cannot take SMs before the GEMM: blocks on single SMs would leave clusters of the GEMM
// without a place until others have ended.
cudaError_t launch_first_panel(const TokenSumArguments& arguments, cudaStream_t stream);

// All pointers to elements are aligned to 16 bytes.
cudaError_t launch_token_sums(const TokenSumArguments& arguments, tilepost_dtype_t type, int blocks,
                              cudaStream_t stream);

}  // namespace tilepost::cuda
