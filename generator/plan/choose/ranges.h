// The ranges of m that the plans of an operation for any m serve, each by itself.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/plan/plan.h"

namespace tilepost {

// A plan's predicted times of the runs of interest, us: the fewer rows the first; nothing for those
// that have more rows than the plan is for.
struct RangeTimes {
  int64_t most_rows;
  std::vector<double> us;
};

// Rows for which a plan of its own is tried, ascending; the last are `most`.
std::vector<int64_t> range_bounds(int64_t most);

// Runs of interest between these bounds: the smallest and the largest of each range that they make.
std::vector<int64_t> range_runs(const std::vector<int64_t>& bounds);

// What the plan is predicted to take for these runs.
RangeTimes times_of(const Plan& plan, const std::vector<int64_t>& runs);

// Which of the plans to have, by index, ascending: of at most `most` of them those whose runs take
// least, each relative to the best that any plan can do, and fewer where one more gains little.
// Ascending by rows; the last one serves every run and is always taken, and none is taken for a run
// for which it is slower than that.
std::vector<size_t> best_ranges(const std::vector<RangeTimes>& plans, size_t most);

}  // namespace tilepost
