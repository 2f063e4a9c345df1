// What a kernel's spare warps do for this rank (tilepost_job_t): steps of a run that add up, move
// or copy what lies in its memory. Made on the host for one run's map.
#pragma once

#include <vector>

#include "runtime/cuda/shared_memory.h"

namespace tilepost::cuda {

// Whether jobs of the kernel carry out such steps: in runs that overlap, or in the others, which
// have none.
bool has_jobs(const tilepost_plan_t& plan, bool overlaps);

// Whether they are all that follows the products: `out` is complete when the kernel has ended. An
// AllReduce's sums are yet to be spread; an AllGather comes before the products.
bool completes_out(const tilepost_plan_t& plan, bool overlaps);

// Whether they copy the rank's own rows of A to where the others read them. The kernel itself reads
// these where the caller has them.
bool copies_own_rows(const tilepost_plan_t& plan, bool overlaps);

// Of a run that has jobs: whether such a step is one.
bool is_job(StepKind kind);

struct Jobs {
  std::vector<tilepost_job_t> list;  // in the order of groups
  std::vector<uint32_t> chunks;      // by group: of its jobs
};

// Of a run that has jobs.
tilepost_result_t make_jobs(const tilepost_plan_t& plan, const RunMap& run,
                            const SharedMemory& shared, Jobs& jobs);

}  // namespace tilepost::cuda
