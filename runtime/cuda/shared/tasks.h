// What a kernel's helper warps do for this rank (tilepost_task_t): steps of a run that add up, move
// or copy what lies in its memory. Made on the host for one run's map.
#pragma once

#include <vector>

#include "runtime/cuda/shared/layout.h"

namespace tilepost::cuda {

// The number of this rank's counters that the kernels of all ranks raise: one for each group. There
// are two for each group if sums are pushed after tiles have been, and if the tasks of whole runs
// push rows (by the run's parity).
int shared_counters(const tilepost_plan_t& plan);

struct Tasks {
  std::vector<tilepost_task_t> list;  // in the order in which they are done
  size_t last = 0;                    // the first that is not done before the last group is here
  std::vector<uint32_t> chunks;       // by group: of its tasks
  std::vector<uint32_t> targets;      // [shared_counters] what a run adds to them
};

// Makes the tasks of a run that has tasks (RunPath::has_tasks).
tilepost_result_t make_tasks(const tilepost_plan_t& plan, const RunMap& run,
                             const SharedRegions& shared, Tasks& tasks);

}  // namespace tilepost::cuda
