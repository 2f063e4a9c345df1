// The bound on the rows of experts that an operation's kernels look at.
#pragma once

#include "runtime/core/routing/routing.h"
#include "runtime/cuda/consumers/rows_bound.h"
#include "runtime/cuda/op/state/run_state.h"

namespace tilepost::cuda {

// Where the plan is for fewer rows than a routing can ask for, the device finds out whether it
// does.
inline RowsBound rows_bound(const tilepost_plan_t& plan, tilepost_expert_routing& routing,
                            const RunState& state) {
  if (plan.most_rows == plan.map.m * plan.top) return {};
  tilepost_routing_info_t tables{};
  routing.get_info(tables);
  return {tables.rank_rows, plan.ranks, static_cast<int>(plan.most_rows),
          &state.page()->rows_fault};
}

}  // namespace tilepost::cuda
