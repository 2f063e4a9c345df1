// The independent reference of sums of tokens: some of a rank's tokens, computed from the operands
// of all ranks, which this rank makes anew. It shares with the sequence only which rows a rank has.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/bench/experts/load.h"
#include "runtime/bench/gpu/checked.h"
#include "tilepost/plan.h"

namespace tilepost::bench {

// How much of a result was compared with the reference.
struct SampledCheck {
  int64_t elements = 0;
  unsigned long long wrong = 0;
};

// Compares sampled tokens in `out` [tokens, n], which was computed from the operands that
// fill_exact_operands() makes with `seed`, and from the routes of all ranks' tokens. Waits for the
// stream. Throws BenchError.
SampledCheck check_sums(const tilepost_plan_t& plan, const std::vector<TokenIds>& all, int rank,
                        uint64_t seed, const void* out, cudaStream_t stream);

}  // namespace tilepost::bench
