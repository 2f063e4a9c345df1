// Operations whose runs read the tables of a routing: which routing an operation may be bound to.
#include <cinttypes>
#include <string>

#include "runtime/core/error.h"
#include "runtime/core/plan_check.h"
#include "runtime/core/routing/routing.h"
#include "runtime/map/patterns.h"

namespace tilepost {
namespace {

tilepost_result_t check_terms(const char* call, const tilepost_plan_t& plan,
                              const RoutingShape& shape) {
  const auto differ = [call](const char* what, int64_t have, int64_t need) {
    return fail(TILEPOST_INVALID_ARGUMENT,
                "%s: options.routing has %s %" PRId64 ", the program is for %" PRId64
                "; bind it to a routing of its own terms",
                call, what, have, need);
  };
  const int64_t experts = int64_t{plan.experts} * plan.ranks;
  if (shape.experts != experts) return differ("experts", shape.experts, experts);
  if (shape.top != plan.top) return differ("top", shape.top, plan.top);
  const int64_t share = (plan.map.m + plan.ranks - 1) / plan.ranks;
  if (shape.most_tokens <= share) return TILEPOST_OK;
  return fail(
      TILEPOST_INVALID_ARGUMENT,
      "%s: options.routing has most_tokens %d, and a share of the program's rows is %" PRId64
      "; make the routing for as many tokens, or plan for more rows",
      call, shape.most_tokens, share);
}

}  // namespace

tilepost_result_t check_binding(const char* call, const tilepost_comm& comm,
                                const tilepost_program_t& program,
                                const tilepost_expert_routing* routing) {
  if (program.num_plans < 1 || program.plans == nullptr) return TILEPOST_OK;  // refused elsewhere
  const tilepost_plan_t& plan = program.plans[0];
  const bool known = is_pattern(stored_value(plan.pattern));
  if (!known || !row_of(plan).has_tokens()) {
    if (routing == nullptr) return TILEPOST_OK;
    return fail(
        TILEPOST_INVALID_ARGUMENT,
        "%s: options.routing is for dispatch_grouped_gemm, grouped_gemm_combine and moe, and "
        "'%s' has another pattern; leave it null",
        call, program.name);
  }
  if (routing == nullptr)
    return fail(
        TILEPOST_INVALID_ARGUMENT,
        "%s: options.routing is null, but '%s' has tokens that go to experts; make a routing with "
        "tilepost_routing_create and pass it",
        call, program.name);
  if (routing->live_ops != comm.live_ops)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "%s: options.routing is of another communicator; make the routing of the "
                "operation's own",
                call);
  return check_terms(call, plan, routing->shape());
}

tilepost_result_t check_bound_tokens(const tilepost_expert_routing& routing, int64_t share) {
  if (routing.routed_tokens <= share) return TILEPOST_OK;
  return fail(TILEPOST_INVALID_ARGUMENT,
              "rank %d: tilepost_routing_set has routed %" PRId64
              " tokens, and this rank's share of the run is %" PRId64 " rows; pass a larger m",
              routing.shape().rank, routing.routed_tokens, share);
}

std::string too_many_rows_text(const char* name, int rank, int64_t rows, int64_t most) {
  return "'" + std::string(name) + "': the routing gives rank " + std::to_string(rank) + " " +
         std::to_string(rows) + " rows, and max_rows of the plan is " + std::to_string(most) +
         "; send its experts fewer tokens, or generate the plan with a larger max_rows";
}

}  // namespace tilepost
