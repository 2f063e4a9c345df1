// Which rows of all ranks make the sums of some tokens of one rank, for the reference of sums
// (sums_reference.h).
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/bench/experts/load.h"

namespace tilepost::bench {

// The tokens of a rank with `tokens` tokens that are looked at: the first, the last, and some
// between them, in ascending order.
std::vector<int32_t> sample_tokens(int tokens);

// A row of a sampled token.
struct SampledRow {
  int32_t sample, row, expert;  // the expert among its rank's
  float weight;
};

// The rows that a rank with the rows `rows` has of the sampled tokens of rank `home`.
std::vector<SampledRow> rows_of_sample(const tilepost_plan_t& plan, const RankRows& rows, int home,
                                       const std::vector<int32_t>& tokens);

}  // namespace tilepost::bench
