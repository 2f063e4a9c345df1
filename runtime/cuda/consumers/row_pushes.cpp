#include "runtime/cuda/consumers/row_pushes.h"

#include <algorithm>

#include "runtime/cuda/shared/tasks.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {

// All ranks get the same rows, at the same place.
void find_pushed_rows(const tilepost_plan_t& plan, const RunMap& run, RowPushes& pushes) {
  const int64_t width = element_bytes(plan.input);
  pushes.groups = run.num_groups();
  for (int group = 0; group < pushes.groups; ++group) {
    const std::vector<Step>& steps = run.steps[group];
    const auto push = std::ranges::find(steps, StepKind::push_rows, &Step::kind);
    pushes.rows[group] =
        push == steps.end() ? PushedRows{}
                            : PushedRows{push->from * width, push->to * width, push->count * width};
  }
}

std::vector<uint32_t> pushed_targets(const tilepost_plan_t& plan, const RunMap& run) {
  std::vector<uint32_t> targets(static_cast<size_t>(shared_counters(plan)), 0);
  for (size_t group = 0; group < run.steps.size(); ++group)
    for (const Step& step : run.steps[group])
      if (step.kind == StepKind::landed_rows)
        targets[group] +=
            static_cast<uint32_t>(pushed_chunks(step.count * element_bytes(plan.input)));
  return targets;
}

int all_pushed_chunks(const RowPushes& pushes) {
  int chunks = 0;
  for (int group = 0; group < pushes.groups; ++group)
    chunks += pushed_chunks(pushes.rows[group].bytes);
  return chunks;
}

}  // namespace tilepost::cuda
