// The route that routed operations are measured with. It is fixed, the same in every run, and can
// be put into words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilepost/plan.h"

namespace tilepost::bench {

struct BenchRoute {
  std::vector<int64_t> splits;        // [ranks] for routing splits
  std::vector<int32_t> destinations;  // [m] for routing rows
  std::vector<int64_t> rows_to;       // [ranks] how many rows go to each rank, whatever the routing
};

// What `rank` sends in a run with the plan's m, of its product or of A.
//
// Routing splits: each rank gets a part of the rows, in the proportion 1, 2, 3 …, and a part of
// another size from each source. Routing rows: each row goes to a rank drawn at random. If routed
// rows of A find no room in their rank, they go to other ranks.
BenchRoute route_of(const tilepost_plan_t& plan, int rank, uint64_t seed);

// [ranks] How many rows `rank` gets from each rank; empty for patterns that route no rows.
std::vector<int64_t> rows_from(const tilepost_plan_t& plan, int rank, uint64_t seed);

// The rows that the GEMM of `rank` multiplies in such a run.
int64_t rows_multiplied(const tilepost_plan_t& plan, int rank, uint64_t seed);

// The route in words; "" if there is nothing to say.
std::string route_in_words(const tilepost_plan_t& plan);

}  // namespace tilepost::bench
