#include "runtime/core/route.h"

#include <cinttypes>

#include "runtime/core/error.h"

namespace tilepost {
namespace {

tilepost_result_t check_rows(const tilepost_plan_t& plan, int64_t asked, int64_t& rows) {
  const int64_t most = rows_of_runs(plan);
  rows = asked == TILEPOST_PLANNED_M ? most : asked;
  if (rows == most || (plan.any_m != 0 && rows >= 0 && rows < most)) return TILEPOST_OK;
  if (plan.any_m != 0)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "tilepost_op_route: m must be from 0 to %" PRId64 ", or -1 for %" PRId64
                ", got %" PRId64,
                most, most, asked);
  return fail(TILEPOST_INVALID_ARGUMENT,
              "tilepost_op_route: m is %" PRId64 ", the plan is for %" PRId64
              " rows only; generate it with 'm: {max: …}' for any number of them",
              asked, most);
}

tilepost_result_t check_splits(const int64_t* splits, int ranks, int64_t rows) {
  if (splits == nullptr)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "tilepost_op_route: splits is null, but the plan's routing is 'splits'");
  int64_t sum = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    if (splits[rank] < 0 || splits[rank] > rows)
      return fail(TILEPOST_INVALID_ARGUMENT,
                  "tilepost_op_route: splits[%d] must be from 0 to the rank's %" PRId64
                  " rows, got %" PRId64,
                  rank, rows, splits[rank]);
    sum += splits[rank];
  }
  if (sum == rows) return TILEPOST_OK;
  return fail(TILEPOST_INVALID_ARGUMENT,
              "tilepost_op_route: the %d splits sum to %" PRId64 ", the rank has %" PRId64 " rows",
              ranks, sum, rows);
}

tilepost_result_t check_destinations(const int32_t* destinations, int ranks, int64_t rows) {
  if (destinations == nullptr && rows > 0)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "tilepost_op_route: destinations is null, but the plan's routing is 'rows'");
  for (int64_t row = 0; row < rows; ++row)
    if (destinations[row] < 0 || destinations[row] >= ranks)
      return fail(TILEPOST_INVALID_ARGUMENT,
                  "tilepost_op_route: destinations[%" PRId64
                  "] must be a rank from 0 to %d, got %d",
                  row, ranks - 1, destinations[row]);
  return TILEPOST_OK;
}

}  // namespace

tilepost_result_t check_route(const tilepost_plan_t& plan, const tilepost_route_t& route,
                              RouteInputs& inputs) {
  if (!is_routed(plan))
    return fail(TILEPOST_INVALID_ARGUMENT,
                "tilepost_op_route: the plan's rows go where the plan says; only one with routing "
                "'splits' or 'rows' takes a route");
  int64_t rows = 0;
  TILEPOST_TRY(check_rows(plan, route.m, rows));
  const bool splits = plan.routing == TILEPOST_ROUTING_SPLITS;
  TILEPOST_TRY(splits ? check_splits(route.splits, plan.ranks, rows)
                      : check_destinations(route.destinations, plan.ranks, rows));
  inputs = {rows, rows, {}, {}};
  if (splits)
    inputs.splits = {route.splits, static_cast<size_t>(plan.ranks)};
  else
    inputs.destinations = {route.destinations, static_cast<size_t>(rows)};
  return TILEPOST_OK;
}

tilepost_result_t check_received(const tilepost_plan_t& plan, std::span<const int64_t> all_counts) {
  if (!row_of(plan).input_is_routed()) return TILEPOST_OK;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    int64_t received = 0;
    for (int source = 0; source < plan.ranks; ++source)
      received += all_counts[static_cast<size_t>(source) * plan.ranks + rank];
    if (received > plan.map.m)
      return fail(TILEPOST_INVALID_ARGUMENT,
                  "tilepost_op_route: rank %d would receive %" PRId64
                  " rows, the plan is for at most %" PRId64
                  "; send it fewer, or generate the plan with a larger 'max_received'",
                  rank, received, plan.map.m);
  }
  return TILEPOST_OK;
}

}  // namespace tilepost
