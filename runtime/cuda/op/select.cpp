#include "runtime/cuda/op/select.h"

#include "runtime/core/plan_check.h"
#include "runtime/cuda/consumers/unpermute.h"
#include "runtime/cuda/device/check.h"
#include "runtime/cuda/device/environment.h"
#include "runtime/cuda/shared/flags.h"
#include "runtime/map/run_path.h"

namespace tilepost::cuda {
namespace {

std::string arch_name(int arch) {
  return arch == 90 ? "sm_90a" : "sm_" + std::to_string(arch);
}

std::string list_archs(const tilepost_program_t& program) {
  std::string text;
  for (int i = 0; i < program.num_plans; ++i) {
    const tilepost_kernel_t& kernel = program.plans[i].kernel;
    if (!text.empty()) text += ", ";
    text += stored_value(kernel.launch) == TILEPOST_LAUNCH_HOST ? "host" : arch_name(kernel.arch);
  }
  return text.empty() ? "nothing" : text;
}

constexpr PlanLimits kLimits = {
    "CUDA",     TILEPOST_ACCESS_TILES, SlabArguments::kMostSources, 2, kMostPeers,
    kMostLanes, kGroupsPerRun - 1};

}  // namespace

bool serves(int arch, int sm) {
  return arch == 90 ? sm == 90 : arch <= sm;
}

tilepost_result_t select_plan(const tilepost_program_t& program, const DeviceInfo& device,
                              const tilepost_plan_t*& plan) {
  plan = nullptr;
  for (int i = 0; i < program.num_plans; ++i) {
    const tilepost_plan_t& candidate = program.plans[i];
    if (stored_value(candidate.kernel.launch) == TILEPOST_LAUNCH_HOST) continue;
    if (!serves(candidate.kernel.arch, device.sm)) continue;
    if (plan == nullptr || candidate.kernel.arch > plan->kernel.arch) plan = &candidate;
  }
  if (plan != nullptr) return TILEPOST_OK;
  return fail(TILEPOST_UNSUPPORTED,
              "program '%s' was generated for %s, %s is sm_%d; generate it with that arch",
              program.name, list_archs(program).c_str(), device.name.c_str(), device.sm);
}

tilepost_result_t check_plan(const tilepost_program_t& program, const tilepost_plan_t& plan,
                             const DeviceInfo& device, int world) {
  TILEPOST_TRY(tilepost::check_plan(program, plan, kLimits, world));
  const RunPath path = paths_of(plan).planned;
  const bool beside = path.overlaps && !path.kernel_does_all;
  const int gemm_sms = (plan.gemm_ctas + plan.kernel.ctas_per_sm - 1) / plan.kernel.ctas_per_sm;
  const int needed = gemm_sms + (beside ? plan.comm_ctas + 1 : 0);
  if (needed > device.sms)
    return fail(TILEPOST_UNSUPPORTED,
                "program '%s' needs %d SMs (%d for the GEMM, %d for communication and the waiter), "
                "%s has %d; generate it for this GPU",
                program.name, needed, gemm_sms, needed - gemm_sms, device.name.c_str(), device.sms);
  if (plan.kernel.shared_bytes > device.max_shared_bytes)
    return fail(TILEPOST_UNSUPPORTED,
                "kernel '%s' needs %d bytes of shared memory, %s gives a CTA at most %d",
                plan.kernel.name, plan.kernel.shared_bytes, device.name.c_str(),
                device.max_shared_bytes);
  return TILEPOST_OK;
}

tilepost_result_t choose_plans(const tilepost_program_t& program, const DeviceInfo& device,
                               int world, PlanRanges& plans) {
  const tilepost_plan_t* first = nullptr;
  TILEPOST_TRY(select_plan(program, device, first));
  plans = ranges_of(program, *first);
  for (const tilepost_plan_t* plan : plans) {
    TILEPOST_TRY(check_plan(program, *plan, device, world));
    TILEPOST_TRY(check_environment(*plan));
  }
  return check_ranges(program, plans);
}

std::string plan_warnings(const tilepost_plan_t& plan, const DeviceInfo& device) {
  std::string warnings;
  if (plan.sms != device.sms)
    warnings = "the plan was made for " + std::to_string(plan.sms) + " SMs, " + device.name +
               " has " + std::to_string(device.sms) + ": it runs, but not at its best\n";
  const bool known = plan.machine != nullptr && plan.gpu != nullptr;
  if (known && device.name.find(plan.gpu) == std::string::npos)
    warnings += std::string("the plan was made for the machine '") + plan.machine +
                "', whose GPUs are '" + plan.gpu + "', and this GPU is '" + device.name +
                "': it runs, but another plan may be faster; plan with --machine\n";
  return warnings;
}

}  // namespace tilepost::cuda
