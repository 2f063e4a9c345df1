#include "runtime/verify/run/operation.h"
#include "runtime/map/patterns.h"

#include <algorithm>

namespace tilepost::verify {
namespace {

// The number of elements of out that no run exceeds: whole tiles and shares of the greatest number
// of rows.
int64_t most_out_elements(const Problem& problem) {
  const int64_t columns = (problem.n + problem.tile_n - 1) / problem.tile_n * problem.tile_n;
  const int64_t whole = problem.most_rows() + problem.tile_m + problem.ranks;
  const bool all = problem.routed() && row_of(problem.pattern).product_is_routed();
  return (all ? problem.m * problem.ranks : whole) * columns;
}

bool needs_operands(const Problem& problem) {
  return problem.epilogue != 0 || problem.experts > 0 || problem.blocks() > 0 ||
         problem.quantised || problem.own != nullptr || problem.any_m || problem.normalises() ||
         row_of(problem.pattern).moves_input();
}

}  // namespace

void RankOperation::create(const tilepost_program_t& program, const Problem& problem,
                           double deadline, int sets) {
  device_.enter();
  problem_ = problem;
  tilepost_options_t options = tilepost_default_options();
  options.deadline_seconds = deadline;
  if (problem.has_tokens()) {
    tilepost_routing_options_t routes = tilepost_default_routing_options();
    routes.deadline_seconds = deadline;
    const int64_t share = (problem.m + problem.ranks - 1) / problem.ranks;
    check(tilepost_routing_create(world_.comm(rank_), problem.experts * problem.ranks, problem.top,
                                  share, &routes, &routing_),
          "tilepost_routing_create");
    options.routing = routing_;
  }
  check(tilepost_op_create(world_.comm(rank_), &program, &options, &op_), "tilepost_op_create");
  tilepost_op_info_t info;
  check(tilepost_op_get_info(op_, &info), "tilepost_op_get_info");
  plan_ = info.plan;
  if (info.rows != nullptr) {
    const tilepost_map_t& map = plan_->map;
    slots_.resize(static_cast<size_t>(tiles_m(map)) * tiles_n(map));
    device_.copy_to_host(slots_.data(), info.rows, slots_.size() * sizeof(int32_t));
  }
  check_info(info);
  for (int i = 0; i < sets; ++i)
    buffers_.push_back(std::make_unique<RunBuffers>(device_, problem, most_out_elements(problem)));
  check_bound();
}

// Checks that the operation reports, before a run, how much the run writes.
void RankOperation::check_info(const tilepost_op_info_t& info) const {
  if (problem_.routed()) return;
  const RunShape shape(problem_, problem_.m, Spread::even, 0);
  const int64_t expected = layout(shape).elements();
  if (info.out_elements != expected)
    throw TargetError("tilepost_op_get_info: out_elements is " + std::to_string(info.out_elements) +
                      ", expected " + std::to_string(expected));
}

// The layout of a run. The operation gives the slots only of runs of the plan's m.
OutputLayout RankOperation::layout(const RunShape& shape) const {
  const bool other = !slots_.empty() && shape.m() != problem_.m;
  return OutputLayout(problem_, shape, rank_, other ? slots_of(*plan_, rank_, shape.m()) : slots_);
}

tilepost_result_t RankOperation::route(const std::vector<int64_t>& splits,
                                       const std::vector<int32_t>& destinations, int64_t rows,
                                       tilepost_arrivals_t& arrivals) {
  tilepost_route_t route{};
  route.struct_size = sizeof route;
  route.m = rows;
  if (problem_.routing == TILEPOST_ROUTING_SPLITS)
    route.splits = splits.data();
  else
    route.destinations = destinations.data();
  arrivals.struct_size = sizeof arrivals;
  return tilepost_op_route(op_, &route, &arrivals);
}

// Checks that a route beyond the plan's bound on the rows that a rank gets is refused on every rank
// alike. Such a route is not set. The problem's own route is set later.
void RankOperation::check_bound() {
  const bool bounded = problem_.routed() && row_of(problem_.pattern).input_is_routed() &&
                       problem_.most_received < problem_.m * problem_.ranks;
  if (!bounded) return;
  std::vector<int64_t> splits(problem_.ranks, 0);
  splits.back() = problem_.m;
  const std::vector<int32_t> destinations(problem_.m, problem_.ranks - 1);
  tilepost_arrivals_t arrivals{};
  const tilepost_result_t result = route(splits, destinations, problem_.m, arrivals);
  if (result != TILEPOST_INVALID_ARGUMENT)
    throw TargetError("tilepost_op_route: a rank would get " +
                      std::to_string(problem_.m * problem_.ranks) + " rows, of at most " +
                      std::to_string(problem_.most_received) + ": got " +
                      tilepost_result_name(result) + ", expected TILEPOST_INVALID_ARGUMENT");
}

void RankOperation::set_route(const RunShape& shape) {
  tilepost_arrivals_t arrivals{};
  check(route(shape.splits(rank_), shape.destinations(rank_), shape.a_rows(rank_), arrivals),
        "tilepost_op_route");
  const std::string wrong = shape.wrong_arrivals(rank_, arrivals);
  if (!wrong.empty()) throw TargetError(wrong);
}

void RankOperation::run(const RunBatch& batch) {
  device_.enter();
  const int count = static_cast<int>(batch.shapes.size());
  for (int i = 0; i < count; ++i)
    buffers_[i]->prepare(batch.distribution, batch.seed, batch.first + i, rank_, batch.shapes[i],
                         layout(batch.shapes[i]).elements());
  if (problem_.routed()) set_route(batch.shapes.front());
  for (int i = 0; i < count; ++i) {
    if (routing_ != nullptr)
      check(tilepost_routing_set(routing_, buffers_[i]->ids(), buffers_[i]->weights(),
                                 batch.shapes[i].tokens(rank_), device_.stream()),
            "tilepost_routing_set");
    const tilepost_run_operands_t operands = buffers_[i]->operands();
    if (needs_operands(problem_))
      check(tilepost_op_run_with(op_, &operands, device_.stream()), "tilepost_op_run_with");
    else
      check(tilepost_op_run(op_, operands.a, operands.b, operands.out, device_.stream()),
            "tilepost_op_run");
  }
  check(tilepost_op_synchronize(op_), "tilepost_op_synchronize");
}

void RankOperation::close() {
  if (op_ == nullptr) return;
  device_.enter();
  tilepost_op_destroy(op_);
  tilepost_routing_destroy(routing_);
  op_ = nullptr;
  routing_ = nullptr;
  buffers_.clear();
}

}  // namespace tilepost::verify
