#include "generator/plan/stated_plan.h"

namespace tilepost {
namespace {

// Which boxes of the kernel somebody makes tensor maps of, or counts with.
void keep_used_boxes(const Plan& plan, tilepost_kernel_t& kernel) {
  if (kernel.launch == TILEPOST_LAUNCH_TMA) return;
  const tilepost_box_t box_c = kernel.box_c;
  kernel.box_a = kernel.box_b = kernel.box_c = {};
  if (kernel.launch == TILEPOST_LAUNCH_CUSTOM && plan.access == TILEPOST_ACCESS_WRITE)
    kernel.box_c = box_c;
  else if (plan.access == TILEPOST_ACCESS_TILES)
    kernel.box_c.rows = box_c.rows;
}

}  // namespace

tilepost_plan_t stated_plan(const Plan& plan) {
  tilepost_plan_t stated = plan;
  if (!rows_vary(plan) || plan.model.wave <= 0) stated.model = {};
  const bool timed = plan.arch != Arch::host;
  stated.machine = timed ? plan.profile.c_str() : nullptr;
  stated.gpu = timed ? plan.gpu.c_str() : nullptr;
  if (!path_of(plan, true).stores_by_owner) {  // rows of A are neither summed nor paced
    stated.sum = TILEPOST_SUM_STAGED;
    stated.pace = 0;
  }
  keep_used_boxes(plan, stated.kernel);
  stated.kernel.function = nullptr;
  stated.kernel.host_function = nullptr;
  stated.kernel.launcher = nullptr;
  return stated;
}

}  // namespace tilepost
