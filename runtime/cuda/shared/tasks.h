// What a kernel's helper warps do for this rank (tilepost_task_t): steps of a run that add up, move
// or copy what lies in its memory. Made on the host for one run's map.
#pragma once

#include <vector>

#include "runtime/cuda/shared/layout.h"

namespace tilepost::cuda {

// Whether tasks of the kernel carry out such steps: in runs that overlap, or in the others, which
// have none.
bool has_tasks(const tilepost_plan_t& plan, bool overlaps);

// Whether they are all there is beside the products: `out` is complete when the kernel has ended.
// Not where others copy what this rank's tasks have copied or summed.
bool completes_out(const tilepost_plan_t& plan, bool overlaps);

// Whether they spread the rank's own rows of A. The kernel itself reads these where the caller has
// them.
bool spreads_own_rows(const tilepost_plan_t& plan, bool overlaps);

// Of runs that overlap: whether they push the rank's own rows of A to the others. If not, they copy
// them to where other ranks' rows come.
bool pushes_rows(const tilepost_plan_t& plan);

// Of a run that has tasks: whether such a step is one in every such plan.
bool is_task(StepKind kind);

// Counters of this rank's that the kernels of all ranks raise: one per group, and, where sums are
// pushed after tiles have been, another.
int shared_counters(const tilepost_plan_t& plan);

struct Tasks {
  std::vector<tilepost_task_t> list;  // in the order in which they are done
  std::vector<uint32_t> chunks;       // by group: of its tasks
  std::vector<uint32_t> targets;      // [shared_counters] what a run adds to them
};

// Of a run that has tasks.
tilepost_result_t make_tasks(const tilepost_plan_t& plan, const RunMap& run,
                             const SharedRegions& shared, Tasks& tasks);

}  // namespace tilepost::cuda
