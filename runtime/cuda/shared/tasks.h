// The tasks of a kernel's helper warps for this rank (tilepost_task_t): steps of a run that add up,
// move or copy data in the rank's memory. The host makes them for one run's map.
#pragma once

#include <vector>

#include "runtime/cuda/shared/layout.h"

namespace tilepost::cuda {

// The number of this rank's counters that the kernels of all ranks raise: one for each group. There
// are two for each group if sums are pushed after tiles, or if the tasks of whole runs push rows
// (by the run's parity).
int shared_counters(const tilepost_plan_t& plan);

struct Tasks {
  std::vector<tilepost_task_t> list;  // in the order in which the tasks are carried out
  size_t last = 0;                    // the first task that is not carried out before the last
                                      // group is here
  std::vector<uint32_t> chunks;       // [groups] how many chunks the group's tasks have
  std::vector<uint32_t> targets;      // [shared_counters] what a run adds to each counter
};

// Makes the tasks of a run that has tasks (RunPath::has_tasks).
tilepost_result_t make_tasks(const tilepost_plan_t& plan, const RunMap& run,
                             const SharedRegions& shared, Tasks& tasks);

}  // namespace tilepost::cuda
