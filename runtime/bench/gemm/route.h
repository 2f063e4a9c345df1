// The route that routed operations are measured with: stated, and the same in every run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilepost/plan.h"

namespace tilepost::bench {

struct BenchRoute {
  std::vector<int64_t> splits;        // [ranks] routing splits
  std::vector<int32_t> destinations;  // [m] routing rows
  std::vector<int64_t> rows_to;       // [ranks] how many rows go to each rank, whatever the routing
};

// What `rank` sends in a run with the plan's m, of its product or of A. splits: to the ranks 1, 2,
// 3 … parts of its rows, to each rank another one from every source; rows: to a rank drawn at
// random for each. Of routed rows of A those that their rank has no room for go to others.
BenchRoute route_of(const tilepost_plan_t& plan, int rank, uint64_t seed);

// [ranks] how many rows `rank` gets from each rank; empty for patterns that route none.
std::vector<int64_t> rows_from(const tilepost_plan_t& plan, int rank, uint64_t seed);

// Rows that the GEMM of `rank` multiplies in that run.
int64_t rows_multiplied(const tilepost_plan_t& plan, int rank, uint64_t seed);

// The route in words, "" where there is nothing to say.
std::string route_in_words(const tilepost_plan_t& plan);

}  // namespace tilepost::bench
