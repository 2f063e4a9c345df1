#include "runtime/cuda/op/select.h"

#include "runtime/cuda/consumers/unpermute.h"
#include "runtime/cuda/device/check.h"
#include "runtime/cuda/shared/flags.h"
#include "runtime/cuda/shared/tasks.h"
#include "runtime/map/run_map.h"
#include "tilepost/dtype.h"
#include "tilepost/task_chunks.h"

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
    text += kernel.launch == TILEPOST_LAUNCH_HOST ? "host" : arch_name(kernel.arch);
  }
  return text.empty() ? "nothing" : text;
}

// What the runtime divides by, counts with or hands to a kernel.
bool is_complete(const tilepost_plan_t& plan) {
  const tilepost_map_t& map = plan.map;
  const tilepost_kernel_t& kernel = plan.kernel;
  return map.m > 0 && map.n > 0 && plan.k > 0 && map.tile_m > 0 && map.tile_n > 0 &&
         map.cluster > 0 && map.num_groups > 0 && map.cuts != nullptr && plan.groups != nullptr &&
         plan.gemm_ctas > 0 && plan.gemm_ctas % map.cluster == 0 && kernel.cluster > 0 &&
         plan.gemm_ctas % kernel.cluster == 0 && kernel.ctas_per_sm > 0 && kernel.threads > 0 &&
         kernel.function != nullptr;
}

// Ranks are few enough for tables by rank, and the shares are theirs.
bool ranks_are_sane(const tilepost_plan_t& plan) {
  return plan.ranks > 0 && plan.ranks <= SlabArguments::kMostSources &&
         (plan.map.ranks == 1 || plan.map.ranks == plan.ranks);
}

// Consumers have something to do, and rows to do it with.
bool consumer_is_sane(const tilepost_plan_t& plan) {
  switch (plan.consumer) {
    case TILEPOST_CONSUMER_NONE:
      return true;
    case TILEPOST_CONSUMER_UNPERMUTE:
      return plan.map.layout == TILEPOST_TILE && plan.pattern != TILEPOST_ALL_GATHER_GEMM;
    case TILEPOST_CONSUMER_RMS_NORM:
    case TILEPOST_CONSUMER_RESIDUAL_RMS_NORM:
      return plan.pattern != TILEPOST_GEMM_ALL_TO_ALL && plan.pattern != TILEPOST_ALL_GATHER_GEMM;
  }
  return false;
}

bool division_is_sane(const tilepost_plan_t& plan) {
  const tilepost_division_t division = plan.map.division;
  if (plan.pattern == TILEPOST_ALL_GATHER_GEMM)
    return division == TILEPOST_DIVISION_ARRIVALS &&
           plan.map.round_robin == (plan.access == TILEPOST_ACCESS_READ ? 1 : 0);
  if (plan.routing == TILEPOST_ROUTING_ROWS) return division == TILEPOST_DIVISION_ROWS;
  return division == TILEPOST_DIVISION_SHARES && plan.map.ranks == plan.ranks;
}

// Ranks that touch each other's memory: few enough for words and flags, and the kernel stores by
// owner where that is needed.
bool sharing_is_sane(const tilepost_plan_t& plan) {
  if (plan.access != access_of(plan.transport)) return false;
  if (plan.access == TILEPOST_ACCESS_MESSAGES) return true;
  if (plan.map.layout != TILEPOST_PANEL || !division_is_sane(plan) || plan.ranks < 2 ||
      plan.ranks > kMostPeers || plan.comm_lanes > kMostLanes ||
      static_cast<uint32_t>(plan.map.num_groups) >= kGroupsPerRun)
    return false;
  const bool gathers = plan.pattern == TILEPOST_ALL_GATHER_GEMM;
  const bool writes = plan.access == TILEPOST_ACCESS_WRITE;
  // Sums are pushed by tasks alone; rows of A by tasks, or by copy engines.
  const bool pushes_sums = plan.pattern == TILEPOST_GEMM_ALL_REDUCE && plan.task_parts > 0;
  if (plan.pushes != (gathers || (writes && pushes_sums))) return false;
  if (!writes) return true;
  // A kernel that adds does so in every run, and only slots are zero before it.
  if (plan.sum == TILEPOST_SUM_ADDED && has_runs(plan, false)) return false;
  return (!gathers || plan.task_parts > 0) && plan.kernel.launch == TILEPOST_LAUNCH_TMA &&
         plan.pace >= 0 &&
         (plan.pattern != TILEPOST_GEMM_ALL_TO_ALL || plan.routing == TILEPOST_ROUTING_EVEN);
}

// Parts lie side by side, in slots, and bulk copies move rows of them, or of A: multiples of 16
// bytes (PTX ISA, cp.async.bulk). A kernel that reads its own rows of A elsewhere has two tensor
// maps of A.
bool tasks_are_sane(const tilepost_plan_t& plan) {
  if (plan.task_parts == 0) return true;
  const bool gathers = plan.pattern == TILEPOST_ALL_GATHER_GEMM;
  const bool moves = gathers || plan.pattern == TILEPOST_GEMM_ALL_TO_ALL;
  const int64_t row =
      gathers ? plan.k * element_bytes(plan.input) : plan.map.n * element_bytes(plan.output);
  return (gathers ? plan.access != TILEPOST_ACCESS_MESSAGES
                  : plan.access == TILEPOST_ACCESS_WRITE) &&
         plan.sum == TILEPOST_SUM_STAGED && plan.kernel.launch == TILEPOST_LAUNCH_TMA &&
         plan.task_parts == (moves ? 1 : plan.ranks) &&
         plan.kernel.helper_bytes <= plan.kernel.shared_bytes &&
         task_chunk_bytes(plan.kernel.helper_bytes, plan.task_parts) >= kTaskUnit &&
         row % kTaskUnit == 0;
}

tilepost_result_t check_shape(const tilepost_program_t& program, const tilepost_plan_t& plan) {
  if (is_complete(plan) && ranks_are_sane(plan) && consumer_is_sane(plan) &&
      sharing_is_sane(plan) && tasks_are_sane(plan))
    return TILEPOST_OK;
  return fail(TILEPOST_INVALID_ARGUMENT,
              "program '%s': its plan for %s is incomplete; regenerate it", program.name,
              arch_name(plan.kernel.arch).c_str());
}

}  // namespace

bool serves(int arch, int sm) {
  return arch == 90 ? sm == 90 : arch <= sm;
}

tilepost_result_t select_plan(const tilepost_program_t& program, const DeviceInfo& device,
                              const tilepost_plan_t*& plan) {
  plan = nullptr;
  for (int i = 0; i < program.num_plans; ++i) {
    const tilepost_plan_t& candidate = program.plans[i];
    if (candidate.kernel.launch == TILEPOST_LAUNCH_HOST) continue;
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
  TILEPOST_TRY(check_shape(program, plan));
  if (plan.pattern != TILEPOST_GEMM && plan.ranks != world)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "program '%s' was generated for %d ranks, the communicator has %d", program.name,
                plan.ranks, world);
  const bool overlaps = plan.transport != TILEPOST_TRANSPORT_NONE;
  const bool beside = overlaps && !path_of(plan, true).completes;
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

std::string plan_warnings(const tilepost_plan_t& plan, const DeviceInfo& device) {
  if (plan.sms == device.sms) return {};
  return "the plan was made for " + std::to_string(plan.sms) + " SMs, " + device.name + " has " +
         std::to_string(device.sms) + ": it runs, but not at its best\n";
}

}  // namespace tilepost::cuda
