// What stands between received data and out on the host target: rows in order, and their norm.
#pragma once

#include <cstdint>

#include "runtime/schedule/run_map.h"

namespace tilepost {

// A run's consumer on one rank.
struct HostConsumer {
  const tilepost_plan_t& plan;
  const RunMap& run;
  int rank;
  const void* data;         // what steps left: the send buffer, or what was received
  const void* norm_weight;  // [n]
  void* norm_residual;      // [rows, n]
  float norm_epsilon;
  void* out;  // [rows, n]
};

// Row `row` of the data, row-major, into n elements at `to`; undoes the tile layout.
void load_row(const HostConsumer& consumer, int64_t row, void* to);

// Carries out the plan's consumer. Norms are computed in fp32, the sum with the residual is rounded
// before it is squared: what is kept is what is normalised.
void consume(const HostConsumer& consumer);

}  // namespace tilepost
