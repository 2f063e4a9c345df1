#include "runtime/host/check.h"

#include <cstdint>
#include <limits>

#include "runtime/core/error.h"
#include "runtime/core/plan_check.h"

namespace tilepost {
namespace {

// No limit, because the host target's tables grow.
constexpr int kMany = std::numeric_limits<int>::max();
constexpr PlanLimits kLimits = {"host", TILEPOST_ACCESS_TILES, kMany, 1, kMany, kMany, kMany};

const tilepost_plan_t* find_host_plan(const tilepost_program_t& program) {
  for (int i = 0; i < program.num_plans && program.plans != nullptr; ++i)
    if (stored_value(program.plans[i].kernel.launch) == TILEPOST_LAUNCH_HOST)
      return &program.plans[i];
  return nullptr;
}

tilepost_result_t check_host_plan(const tilepost_program_t& program, const tilepost_plan_t& plan,
                                  int world) {
  const int transport = stored_value(plan.transport);
  if (transport != TILEPOST_TRANSPORT_NONE && transport != TILEPOST_TRANSPORT_HOST)
    return fail(TILEPOST_UNSUPPORTED,
                "'%s': the host target does not know transport %d; regenerate it with "
                "'transport: auto' or 'none'",
                program.name, transport);
  return check_plan(program, plan, kLimits, world);
}

}  // namespace

tilepost_result_t check_host_program(const tilepost_program_t& program, int world,
                                     PlanRanges& checked) {
  const tilepost_plan_t* plan = find_host_plan(program);
  if (plan == nullptr)
    return fail(TILEPOST_UNSUPPORTED,
                "'%s' has no plan for the host target; generate it with 'arch: host'",
                program.name);
  const PlanRanges plans = ranges_of(program, *plan);
  for (const tilepost_plan_t* each : plans) TILEPOST_TRY(check_host_plan(program, *each, world));
  const tilepost_result_t result = check_ranges(program, plans);
  if (result == TILEPOST_OK) checked = plans;
  return result;
}

}  // namespace tilepost
