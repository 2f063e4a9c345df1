#include "runtime/verify/run/operation.h"
#include "runtime/map/patterns.h"

#include <algorithm>

namespace tilepost::verify {
namespace {

// Elements of out that no run exceeds: whole tiles and shares of all rows there can be.
int64_t most_out_elements(const Problem& problem) {
  const int64_t columns = (problem.n + problem.tile_n - 1) / problem.tile_n * problem.tile_n;
  const int64_t whole = problem.m + problem.tile_m + problem.ranks;
  return (problem.routed() ? problem.m * problem.ranks : whole) * columns;
}

bool needs_operands(const Problem& problem) {
  return problem.epilogue != 0 || problem.any_m || problem.normalises() ||
         row_of(problem.pattern).moves_input();
}

}  // namespace

void RankOperation::create(const tilepost_program_t& program, const Problem& problem,
                           double deadline, int sets) {
  device_.enter();
  problem_ = problem;
  tilepost_options_t options = tilepost_default_options();
  options.deadline_seconds = deadline;
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
}

// How much a run writes is told before it is run.
void RankOperation::check_info(const tilepost_op_info_t& info) const {
  if (problem_.routed()) return;
  const RunShape shape(problem_, problem_.m, Spread::even, 0);
  const int64_t expected = layout(shape).elements();
  if (info.out_elements != expected)
    throw TargetError("tilepost_op_get_info: out_elements is " + std::to_string(info.out_elements) +
                      ", expected " + std::to_string(expected));
}

// The operation tells the slots of the plan's m only.
OutputLayout RankOperation::layout(const RunShape& shape) const {
  const bool other = !slots_.empty() && shape.m() != problem_.m;
  return OutputLayout(problem_, shape, rank_, other ? slots_of(*plan_, rank_, shape.m()) : slots_);
}

void RankOperation::set_route(const RunShape& shape) {
  tilepost_route_t route{};
  route.struct_size = sizeof route;
  route.m = shape.rows(rank_);
  if (problem_.routing == TILEPOST_ROUTING_SPLITS)
    route.splits = shape.splits(rank_).data();
  else
    route.destinations = shape.destinations(rank_).data();
  tilepost_arrivals_t arrivals{};
  arrivals.struct_size = sizeof arrivals;
  check(tilepost_op_route(op_, &route, &arrivals), "tilepost_op_route");
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
  op_ = nullptr;
  buffers_.clear();
}

}  // namespace tilepost::verify
