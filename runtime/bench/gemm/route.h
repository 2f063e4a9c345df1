// The route with which routed operations are measured. It is the same in every run, and simple
// enough to be described in words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilepost/plan.h"

namespace tilepost::bench {

struct BenchRoute {
  std::vector<int64_t> splits;        // [ranks] if splits are routed
  std::vector<int32_t> destinations;  // [m] if rows are routed
  std::vector<int64_t> rows_to;       // [ranks] the number of rows that go to each rank, for every
                                      // routing
};

// The rows that `rank` sends, of its product or of A, in a run with the plan's m.
//
// If splits are routed, each rank gets a part of the rows, in the proportion 1, 2, 3 …, and a part
// of another size from each source. If rows are routed, each row goes to a rank drawn at random.
// Routed rows of A that find no room in their rank go to other ranks.
BenchRoute route_of(const tilepost_plan_t& plan, int rank, uint64_t seed);

// [ranks] The number of rows that `rank` gets from each rank. Empty for patterns that route no
// rows.
std::vector<int64_t> rows_from(const tilepost_plan_t& plan, int rank, uint64_t seed);

// The number of rows that the GEMM of `rank` multiplies in a run with the plan's m.
int64_t rows_multiplied(const tilepost_plan_t& plan, int rank, uint64_t seed);

// Describes the route in words. Returns "" if the route needs no description.
std::string route_in_words(const tilepost_plan_t& plan);

}  // namespace tilepost::bench
