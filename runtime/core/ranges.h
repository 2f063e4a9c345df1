// Plans of a program that serve the runs of one operation. Each plan serves the runs of a range of
// m.
//
// A program may have several plans for one architecture. The first plan could serve every run of
// the operation, and each plan after it is for fewer rows. A run is served by the plan for the
// fewest rows that has room for the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tilepost/tilepost.h"

namespace tilepost {

// The plans of one operation. The first has the operation's m.
using PlanRanges = std::vector<const tilepost_plan_t*>;
constexpr size_t kMostRanges = TILEPOST_MOST_RANGES;

// The plans of the program for the target and architecture of `first`, in their order. `first` is
// the first of these plans. The plans need not have been checked.
PlanRanges ranges_of(const tilepost_program_t& program, const tilepost_plan_t& first);

// Checks that the plans are for one problem, and each for fewer rows than the plan before. Each
// plan must have passed check_plan. TILEPOST_INVALID_ARGUMENT: the plans differ in what they must
// have in common, or are not in order. The error names the first difference. TILEPOST_UNSUPPORTED:
// there are more than kMostRanges plans.
tilepost_result_t check_ranges(const tilepost_program_t& program, const PlanRanges& plans);

// The hash of hash_plan() of all plans. For a single plan it is hash_plan() itself.
uint64_t hash_plans(const PlanRanges& plans);

// The index of the plan that serves a run of `m` rows. It is 0 if no plan has room for the run, so
// that the operation of the first plan reports the error.
size_t range_of_run(std::span<const int64_t> most_rows, int64_t m);

}  // namespace tilepost
