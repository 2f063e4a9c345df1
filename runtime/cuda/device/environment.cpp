#include "runtime/cuda/device/environment.h"

#include <cstdlib>
#include <cstring>

#include "runtime/map/run_path.h"

namespace tilepost::cuda {
namespace {

struct Variable {
  const char* name;
  const char* effect;
};

// These are from NCCL's documentation, "Environment Variables".
constexpr Variable kOverrides[] = {
    {"NCCL_MAX_CTAS", "sets how many SMs NCCL may take"},
    {"NCCL_MIN_CTAS", "sets how many SMs NCCL takes at least"},
    {"NCCL_MAX_NCHANNELS", "sets how many SMs NCCL may take"},
    {"NCCL_MIN_NCHANNELS", "sets how many SMs NCCL takes at least"},
    {"NCCL_CGA_CLUSTER_SIZE",
     "lets NCCL ask for clusters of SMs, which may be free only when the "
     "GEMM ends"},
    {"NCCL_CTA_POLICY", "changes how NCCL chooses its SMs"},
    {"NCCL_NTHREADS", "changes the size of NCCL's CTAs"},
    {"NCCL_ALGO", "fixes NCCL's algorithm"},
    {"NCCL_PROTO", "fixes NCCL's protocol"},
    {"CUDA_LAUNCH_BLOCKING", "runs one kernel at a time, so that nothing overlaps"},
};

bool is_of_nccl(const Variable& variable) {
  return std::strncmp(variable.name, "NCCL_", 5) == 0;
}

}  // namespace

std::string environment_warnings(const tilepost_plan_t& plan) {
  std::string text;
  if (!row_of(plan).communicates()) return text;
  for (const Variable& variable : kOverrides) {
    const char* value = std::getenv(variable.name);
    if (value == nullptr || *value == '\0') continue;
    // NCCL takes no part in runs that overlap where ranks read or write each other's memory, or
    // where copies go through the host's.
    const bool by_nccl =
        plan.access == TILEPOST_ACCESS_MESSAGES && plan.transport != TILEPOST_TRANSPORT_HOST_COPIES;
    if (!by_nccl && is_of_nccl(variable)) continue;
    text += std::string(variable.name) + "=" + value + " overrides the plan (" +
            std::to_string(plan.comm_ctas) + " communication CTAs, cluster size 1): it " +
            variable.effect + "\n";
  }
  return text;
}

// A launch that blocks returns only when its kernel has ended. A kernel that waits for rows ends
// only after these rows have come, and what brings them is issued after the launch.
tilepost_result_t check_environment(const tilepost_plan_t& plan) {
  constexpr const char* kBlocking = "CUDA_LAUNCH_BLOCKING";
  const char* value = std::getenv(kBlocking);
  const bool blocks = value != nullptr && std::atoi(value) != 0;
  if (!blocks || paths_of(plan).planned.waits != Waits::tiles) return TILEPOST_OK;
  return fail(TILEPOST_UNSUPPORTED,
              "%s is '%s': the GEMM would wait for ever for rows that are sent after its launch; "
              "unset it, or generate with transport none",
              kBlocking, value);
}

}  // namespace tilepost::cuda
