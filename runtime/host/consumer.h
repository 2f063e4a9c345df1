// The consumer on the host target. It puts received rows into order, normalises or quantises them,
// and writes them to out.
#pragma once

#include <cstdint>

#include "runtime/schedule/run_map.h"

namespace tilepost {

// A run's consumer on one rank.
struct HostConsumer {
  const tilepost_plan_t& plan;
  const RunMap& run;
  int rank;
  const void* data;         // where the steps leave rows: the send buffer, or received memory
  const void* norm_weight;  // [n]
  void* norm_residual;      // [rows, n]
  float norm_epsilon;
  void* out;          // [rows, n]
  float* out_scales;  // tilepost_plan_t::quantised: of the blocks of out
};

// Copies row `row` of the data to n consecutive elements at `to`, and so undoes the tile layout.
void load_row(const HostConsumer& consumer, int64_t row, void* to);

// Carries out the plan's consumer. Norms are computed in fp32. The sum with the residual is rounded
// before it is squared, so that the sum that is kept is also the one that is normalised. A norm
// that is quantised is not rounded to the product's type in between.
void consume(const HostConsumer& consumer);

}  // namespace tilepost
