#include "runtime/core/ranges.h"

#include <cinttypes>

#include "runtime/core/error.h"
#include "runtime/core/plan_check.h"
#include "runtime/core/plan_hash.h"
#include "runtime/map/fnv1a.h"
#include "runtime/map/run_path.h"

namespace tilepost {
namespace {

// A field that all plans of an operation must have in common, because callers pass the same
// operands to every run.
struct Fact {
  const char* name;
  int64_t value;
};
std::vector<Fact> facts_of(const tilepost_plan_t& plan) {
  return {{"pattern", plan.pattern},
          {"ranks", plan.ranks},
          {"n", plan.map.n},
          {"k", plan.k},
          {"input", plan.input},
          {"output", plan.output},
          {"operands", plan.operands},
          {"epilogue", plan.epilogue},
          {"routing", plan.routing},
          {"layout", plan.map.layout},
          {"consumer", plan.consumer},
          {"any_m", plan.any_m},
          {"quantised", plan.quantised},
          {"scales_out", plan.scales_out}};
}

// Whether the caller finds rows and output in the same places with every plan that may serve a run.
bool may_take_turns(const tilepost_plan_t& plan) {
  return plan.any_m != 0 && !is_routed(plan) && !keeps_tiles(plan);
}

}  // namespace

PlanRanges ranges_of(const tilepost_program_t& program, const tilepost_plan_t& first) {
  PlanRanges plans;
  for (int i = 0; i < program.num_plans; ++i) {
    const tilepost_plan_t& plan = program.plans[i];
    const bool same_target = (stored_value(plan.kernel.launch) == TILEPOST_LAUNCH_HOST) ==
                             (stored_value(first.kernel.launch) == TILEPOST_LAUNCH_HOST);
    if (same_target && plan.kernel.arch == first.kernel.arch) plans.push_back(&plan);
  }
  return plans;
}

tilepost_result_t check_ranges(const tilepost_program_t& program, const PlanRanges& plans) {
  if (plans.size() > kMostRanges)
    return fail(TILEPOST_UNSUPPORTED,
                "'%s' has %zu plans for one architecture, this runtime takes at most %zu; "
                "regenerate it with this version",
                program.name, plans.size(), kMostRanges);
  const std::vector<Fact> expected = facts_of(*plans.front());
  for (size_t i = 1; i < plans.size(); ++i) {
    const std::vector<Fact> found = facts_of(*plans[i]);
    for (size_t at = 0; at < found.size(); ++at)
      if (found[at].value != expected[at].value)
        return fail(TILEPOST_INVALID_ARGUMENT,
                    "'%s': the %s of plan %zu for one architecture is %" PRId64
                    ", that of the first %" PRId64 "; regenerate it",
                    program.name, found[at].name, i + 1, found[at].value, expected[at].value);
    if (!may_take_turns(*plans[i]))
      return fail(TILEPOST_INVALID_ARGUMENT,
                  "'%s' has %zu plans for one architecture, but runs whose rows are fixed, routed "
                  "or left in tiles have one; regenerate it",
                  program.name, plans.size());
    const int64_t rows = rows_of_runs(*plans[i]), before = rows_of_runs(*plans[i - 1]);
    if (rows >= before)
      return fail(TILEPOST_INVALID_ARGUMENT,
                  "'%s': plan %zu for one architecture is for %" PRId64
                  " rows, expected fewer than the %" PRId64 " of the one before; regenerate it",
                  program.name, i + 1, rows, before);
  }
  return TILEPOST_OK;
}

uint64_t hash_plans(const PlanRanges& plans) {
  if (plans.size() == 1) return hash_plan(*plans.front());
  Fnv1a hash;
  for (const tilepost_plan_t* plan : plans) hash.mix(hash_plan(*plan));
  return hash.value();
}

size_t range_of_run(std::span<const int64_t> most_rows, int64_t m) {
  size_t range = 0;
  for (size_t i = 1; i < most_rows.size(); ++i)
    if (m >= 1 && m <= most_rows[i]) range = i;
  return range;
}

}  // namespace tilepost
