// The common state of a family: operations of the host target, each for a range of m, that are one
// operation to their caller (runtime/core/ranges.h). A single operation is a family of one.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/core/plan_hash.h"
#include "runtime/core/ranges.h"
#include "runtime/host/group.h"
#include "runtime/map/patterns.h"

namespace tilepost {

struct HostFamily {
  // `name` and the plans in `plans` belong to the program, which outlives the operations.
  HostFamily(std::shared_ptr<HostGroup> of, int its_rank, const char* program, PlanRanges its_plans)
      : group(std::move(of)),
        rank(its_rank),
        name(program),
        plans(std::move(its_plans)),
        hash(hash_plans(plans)) {}

  bool takes_turns() const { return plans.size() > 1; }

  // The part of `bytes` that each operation gets, where the caller gives `bytes` to all operations
  // together.
  int64_t part_of(int64_t bytes) const {
    return std::max<int64_t>(1, bytes / static_cast<int64_t>(plans.size()));
  }

  // Numbers the family. Called when all its operations have been made, so that a family that could
  // not be made is not counted. The number must be the same on all ranks.
  void count() {
    if (!row_of(*plans.front()).communicates()) return;
    HostStream& stream = group->stream(rank);
    const std::lock_guard lock(stream.mutex);
    operation = ++stream.operations;
  }

  const std::shared_ptr<HostGroup> group;
  const int rank;
  const char* const name;
  const PlanRanges plans;
  const uint64_t hash;                             // hash_plans
  uint64_t operation = 0;                          // RunTerms::operation; 0 if ranks do not
                                                   // communicate
  uint64_t runs = 0;                               // how many runs of all operations were posted;
                                                   // guarded by the stream's mutex
  std::vector<std::shared_ptr<HostArena>> arenas;  // the arenas of these operations alone, if there
                                                   // are several
};

}  // namespace tilepost
