// The ranges of m that each of the plans of an operation for any m serves.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/plan/plan.h"

namespace tilepost {

// A plan's predicted times of the runs of interest, us, from the fewest rows to the most. Runs with
// more rows than the plan is for have no entry.
struct RangeTimes {
  int64_t most_rows;
  std::vector<double> us;
};

// The numbers of rows for which a separate plan is tried, ascending. The last number is `most`.
std::vector<int64_t> range_bounds(int64_t most);

// The runs of interest, as numbers of rows: the smallest and the largest run of each range between
// these bounds.
std::vector<int64_t> range_runs(const std::vector<int64_t>& bounds);

// What the plan is predicted to take for each of these runs.
RangeTimes times_of(const Plan& plan, const std::vector<int64_t>& runs);

// The plans to keep: at most `most`, with which runs take least, each run relative to the best that
// any plan can do. Returns ascending indices into `plans`, which ascend by rows. There are fewer
// plans where one more gains little. The last plan serves every run and is always kept. No plan is
// kept for a run for which it is slower than the last one.
std::vector<size_t> best_ranges(const std::vector<RangeTimes>& plans, size_t most);

}  // namespace tilepost
