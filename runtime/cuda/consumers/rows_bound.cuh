// How a kernel finds out that its run has too many rows. Such a run writes nothing, and neither
// does any run behind it: the host ends the operation, and until then no output is written.
#pragma once

#include "runtime/cuda/consumers/rows_bound.h"

namespace tilepost::cuda {

// The first rank with too many rows, or `ranks` if there is none.
__device__ inline int rank_with_too_many(const RowsBound& bound) {
  int rank = 0;
  while (rank < bound.ranks && bound.rank_rows[rank] <= bound.most) ++rank;
  return rank;
}

// One thread of each block. Whether the run must write nothing. All blocks find the same. `over` is
// the operation's word that is not 0 from the first run with too many rows on.
__device__ inline bool is_over(const RowsBound& bound, unsigned* over_word) {
  if (bound.rank_rows == nullptr) return false;
  volatile unsigned* const over = over_word;
  const int rank = rank_with_too_many(bound);
  if (rank == bound.ranks) return *over != 0;
  if (blockIdx.x > 0 || *over != 0) return true;
  volatile RowsFault* const fault = bound.fault;
  fault->rank = rank;
  fault->rows = bound.rank_rows[rank];
  __threadfence_system();
  fault->found = 1;
  *over = 1;
  return true;
}

}  // namespace tilepost::cuda
