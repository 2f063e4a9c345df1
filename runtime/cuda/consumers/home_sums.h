// Sums the rows of tokens and adds up all ranks' sums (TILEPOST_GROUPED_GEMM_COMBINE, where ranks
// store into each other's memory: RunPath::sums_at_home). It comes behind the GEMM.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "runtime/cuda/consumers/rows_bound.h"
#include "runtime/cuda/shared/flags.h"
#include "runtime/map/sum_parts.h"
#include "tilepost/internal/token_sums.h"

namespace tilepost::cuda {

// The words of an operation, zeroed before its first run. `ticket` and `blocks` are zero between
// runs.
struct HomeSumWords {
  uint32_t ticket;  // the next ticket
  uint32_t blocks;  // how many blocks have finished
  uint32_t over;    // not 0 from the first run with too many rows on
};

// The fields are the same for all ranks, unless the comment says otherwise.
struct HomeSumArguments {
  TokenSums sums;  // this rank's
  SumParts parts;
  const void* products;   // this rank's: [rows of experts, n], 16-bit elements
  const void* residual;   // this rank's: [share, n], or null
  int32_t n;              // a multiple of 8
  int32_t lag;            // sum_turn
  void* const* peer_out;  // by rank: where this rank's sums of that rank's tokens go
  const void* slots;      // where other ranks' sums of this rank's tokens come, by rank
  int64_t slot_bytes;     // from a rank's sums there to the next rank's
  void* out;              // this rank's: [share, n]
  SharedFlags flags;
  HomeSumWords* words;
  RowsBound bound;
};

cudaError_t preload_home_sums(tilepost_dtype_t type);

// How many warps a launch on `sms` SMs has. A block fills an SM.
int home_sum_warps(int sms);

// All pointers to elements are aligned to 16 bytes. There is a block for each of `sms` SMs.
cudaError_t launch_home_sums(const HomeSumArguments& arguments, tilepost_dtype_t type, int sms,
                             cudaStream_t stream);

}  // namespace tilepost::cuda
