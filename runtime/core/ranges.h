// Plans of a program that serve runs of one operation, each those of a range of m.
//
// A program may have several plans for one architecture. The first of them could serve every run of
// the operation; those behind it are for fewer and fewer rows. A run is the plan's that is for the
// fewest rows of those that have room for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tilepost/tilepost.h"

namespace tilepost {

// Plans of one operation; the first is the one with the operation's m.
using PlanRanges = std::vector<const tilepost_plan_t*>;
constexpr size_t kMostRanges = TILEPOST_MOST_RANGES;

// Those of the program that are for the same target and architecture as `first`, the first of them,
// in their order. Nothing of them has been checked.
PlanRanges ranges_of(const tilepost_program_t& program, const tilepost_plan_t& first);

// That plans, each of which keeps the rules by itself (plan_check.h), are of one problem, and for
// fewer and fewer rows. TILEPOST_INVALID_ARGUMENT names the first thing that is not so.
tilepost_result_t check_ranges(const tilepost_program_t& program, const PlanRanges& plans);

// hash_plan of all of them: of a single plan, its own.
uint64_t hash_plans(const PlanRanges& plans);

// Whose run one of `m` rows is; 0, which says what is wrong with it, where none has room for it.
size_t range_of_run(std::span<const int64_t> most_rows, int64_t m);

}  // namespace tilepost
