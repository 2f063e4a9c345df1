// What a kernel's spare warps do for this rank (tilepost_job_t): steps of a run that add up, move
// or copy what lies in its memory. Made on the host for one run's map.
#pragma once

#include <vector>

#include "runtime/cuda/shared_layout.h"

namespace tilepost::cuda {

// Whether jobs of the kernel carry out such steps: in runs that overlap, or in the others, which
// have none.
bool has_jobs(const tilepost_plan_t& plan, bool overlaps);

// Whether they are all there is beside the products: `out` is complete when the kernel has ended.
// Not where others copy what this rank's jobs have copied or summed.
bool completes_out(const tilepost_plan_t& plan, bool overlaps);

// Whether they spread the rank's own rows of A. The kernel itself reads these where the caller has
// them.
bool spreads_own_rows(const tilepost_plan_t& plan, bool overlaps);

// Of runs that overlap: whether they push the rank's own rows of A to the others. If not, they copy
// them to where other ranks' rows come.
bool pushes_rows(const tilepost_plan_t& plan);

// Of a run that has jobs: whether such a step is one in every such plan.
bool is_job(StepKind kind);

// Counters of this rank's that the kernels of all ranks raise: one per group, and, where sums are
// pushed after tiles have been, another.
int shared_counters(const tilepost_plan_t& plan);

struct Jobs {
  std::vector<tilepost_job_t> list;  // in the order in which they are done
  std::vector<uint32_t> chunks;      // by group: of its jobs
  std::vector<uint32_t> targets;     // [shared_counters] what a run adds to them
};

// Of a run that has jobs.
tilepost_result_t make_jobs(const tilepost_plan_t& plan, const RunMap& run,
                            const SharedRegions& shared, Jobs& jobs);

}  // namespace tilepost::cuda
