#include "runtime/cuda/jobs.h"

#include "tilepost/dtype.h"
#include "tilepost/jobs.h"

namespace tilepost::cuda {
namespace {

// The own rows are there before the kernel starts.
tilepost_job_t make_job(const tilepost_plan_t& plan, const Step& step, int group,
                        const SharedMemory& shared) {
  const bool own_rows = step.kind == StepKind::own_rows;
  const int64_t width = element_bytes(own_rows ? plan.input : plan.output);
  tilepost_job_t job{};
  job.from = (step.kind == StepKind::sum ? step.from_slot : step.from) * width;
  job.to = step.to * width;
  if (plan.pattern == TILEPOST_GEMM_ALL_REDUCE)
    job.also = shared.own(shared.layout().sums + job.from);
  job.bytes = step.count * width;
  job.group = own_rows ? -1 : group;
  return job;
}

}  // namespace

bool has_jobs(const tilepost_plan_t& plan, bool overlaps) {
  return overlaps && plan.job_parts > 0;
}

bool completes_out(const tilepost_plan_t& plan, bool overlaps) {
  return has_jobs(plan, overlaps) && plan.pattern != TILEPOST_GEMM_ALL_REDUCE &&
         plan.pattern != TILEPOST_ALL_GATHER_GEMM;
}

bool copies_own_rows(const tilepost_plan_t& plan, bool overlaps) {
  return has_jobs(plan, overlaps) && plan.pattern == TILEPOST_ALL_GATHER_GEMM;
}

bool is_job(StepKind kind) {
  return kind == StepKind::sum || kind == StepKind::own_part || kind == StepKind::landed_part ||
         kind == StepKind::own_rows;
}

// Jobs are what waits for tiles that ranks store: a rank that has ended a run without having waited
// for all of them would let others store into what is still to come.
tilepost_result_t make_jobs(const tilepost_plan_t& plan, const RunMap& run,
                            const SharedMemory& shared, Jobs& jobs) {
  const int chunk = job_chunk_bytes(plan.kernel.spare_bytes, plan.job_parts);
  const bool stores = plan.access == TILEPOST_ACCESS_WRITE;
  jobs.chunks.resize(run.steps.size());
  for (size_t g = 0; g < run.steps.size(); ++g) {
    for (const Step& step : run.steps[g]) {
      if (!is_job(step.kind)) continue;
      jobs.list.push_back(make_job(plan, step, static_cast<int>(g), shared));
      jobs.chunks[g] += static_cast<uint32_t>(job_chunks(jobs.list.back().bytes, chunk));
    }
    if (stores && jobs.chunks[g] == 0 && run.targets[g] > 0)
      return fail(TILEPOST_INTERNAL_ERROR, "tiles of group %zu are stored, and no job reads them",
                  g);
  }
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
