#include "runtime/core/composed/layer_op.h"

#include <algorithm>
#include <cinttypes>
#include <string>

#include "runtime/core/error.h"
#include "runtime/core/operands.h"
#include "runtime/core/structures.h"
#include "tilepost/dtype.h"

namespace tilepost {
namespace {

// The bytes of the rows between the halves: all that the first half may write, with the plan that
// writes most. The plans need not have been checked, and wrong sizes are refused where halves are
// made.
int64_t bytes_between(const tilepost_program_t& first) {
  constexpr int64_t kMostElements = int64_t{1} << 46;  // of any matrix of a plan that is right
  int64_t most = 0;
  for (const tilepost_plan_t& plan : plans_of(first)) {
    const int output = stored_value(plan.output);
    const bool known = output >= 0 && output < kNumDtypes && plan.map.n > 0;
    if (known && plan.most_rows > 0 && plan.most_rows <= kMostElements / plan.map.n)
      most = std::max(most, plan.most_rows * plan.map.n * element_bytes(plan.output));
  }
  return most;
}

tilepost_result_t check_given(const tilepost_run_operands_t& operands) {
  if (operands.layer == nullptr)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "layer is null, but the program is that of a layer of experts; pass its operands");
  return check_size("tilepost_op_run_with", "layer", *operands.layer, "tilepost_layer_operands_t");
}

tilepost_result_t refuse(const char* what) {
  return fail(TILEPOST_UNSUPPORTED,
              "%s is not available with a layer of experts; make its halves as operations of their "
              "own",
              what);
}

}  // namespace

// Both programs are checked before memory is taken.
tilepost_result_t make_layer(tilepost_comm& comm, const tilepost_program_t& program,
                             const tilepost_options_t& options, std::unique_ptr<tilepost_op>& op) {
  const auto shared = std::make_shared<LayerOp::Shared>(program);
  const LayerPrograms& programs = shared->programs;
  tilepost_memory_t unused{sizeof unused, 0, 0, 0};
  TILEPOST_TRY(comm.memory_of(programs.both(), options, unused));
  const int64_t bytes = bytes_between(programs.first());
  if (options.routing->rows_to_make(bytes) > 0) shared->made_bytes = bytes;
  const tilepost_result_t lent = options.routing->lend_rows(bytes, shared->rows);
  if (lent != TILEPOST_OK) {
    const std::string text = tilepost_last_error();
    return fail(lent, "'%s': %" PRId64 " bytes for the rows between its halves: %s", program.name,
                bytes, text.c_str());
  }
  ComposedOp::Ops halves(2);
  TILEPOST_TRY(comm.create_op(programs.first(), options, halves[0]));
  TILEPOST_TRY(comm.create_op(programs.second(), options, halves[1]));
  tilepost_op_info_t up{}, down{};
  TILEPOST_TRY(halves[0]->get_info(up));
  TILEPOST_TRY(halves[1]->get_info(down));
  const LayerOp::Plans plans{*up.plan, *down.plan, up.rank};
  op = std::make_unique<LayerOp>(std::move(halves), shared, plans, *options.routing);
  return TILEPOST_OK;
}

tilepost_result_t add_needs_of_layer(tilepost_comm& comm, const tilepost_program_t& program,
                                     const tilepost_options_t& options, tilepost_memory_t& memory) {
  const LayerPrograms programs(program);
  TILEPOST_TRY(comm.memory_of(programs.both(), options, memory));
  memory.device_bytes += options.routing->rows_to_make(bytes_between(programs.first()));
  return TILEPOST_OK;
}

LayerOp::LayerOp(Ops halves, std::shared_ptr<const Shared> shared, const Plans& plans,
                 tilepost_expert_routing& routing)
    : ComposedOp(std::move(halves), shared),
      shared_(std::move(shared)),
      plans_(plans),
      routing_(routing) {}

LayerOp::HalfOperands LayerOp::halves_of(const tilepost_run_operands_t& operands) const {
  HalfOperands halves{operands, operands};
  tilepost_run_operands_t &up = halves.first, &down = halves.second;
  up.layer = down.layer = nullptr;
  up.residual = nullptr;
  up.out = shared_->rows->memory();
  down.a = up.out;
  down.b = operands.layer->b;
  down.bias = operands.layer->bias;
  down.gathered = nullptr;
  return halves;
}

tilepost_result_t LayerOp::check_tokens(int64_t tokens, int64_t share) const {
  if (tokens == TILEPOST_ROUTED) return check_bound_tokens(routing_, share);
  if (tokens >= 0 && tokens <= share) return TILEPOST_OK;
  return fail(TILEPOST_INVALID_ARGUMENT,
              "layer.tokens must be from 0 to %" PRId64
              ", the rows of this rank's share of the run, or TILEPOST_ROUTED (-1); got %" PRId64
              "; pass a larger m",
              share, tokens);
}

// Looks at both halves before anything of the run is posted, so that a rank may correct what is
// wrong and call again. Each half's own check knows its operands by the names of an operation that
// stands alone, so they are looked at here first.
tilepost_result_t LayerOp::check_all(const HalfOperands& halves, int64_t tokens,
                                     CUstream_st* stream) {
  int64_t m = 0;
  TILEPOST_TRY(rows_of_run(plans_.first, halves.first.m, -1, m));
  const RowsOfRank rows = rows_of_rank_in(plans_.first, plans_.rank, m);
  const RunOperands read_first(plans_.first, plans_.rank, rows, halves.first);
  RunOperands read_second(plans_.second, plans_.rank,
                          rows_of_rank_in(plans_.second, plans_.rank, m), halves.second);
  read_second.rename("b", "layer.b");
  read_second.rename("bias", "layer.bias");
  TILEPOST_TRY(read_first.check());
  TILEPOST_TRY(read_second.check());
  TILEPOST_TRY(read_first.check_apart_from(read_second, shared_->rows->memory()));
  TILEPOST_TRY(read_second.check_apart_from(read_first, shared_->rows->memory()));
  TILEPOST_TRY(check_tokens(tokens, rows.tokens));
  TILEPOST_TRY(with_reason(first().check(halves.first, stream)));
  const tilepost_result_t result = with_reason(second().check(halves.second, stream));
  if (result == TILEPOST_OK) return TILEPOST_OK;
  const std::string text = tilepost_last_error();
  return fail(result, "the second half of the layer, whose b is layer.b: %s", text.c_str());
}

tilepost_result_t LayerOp::check(const tilepost_run_operands_t& operands, CUstream_st* stream) {
  TILEPOST_TRY(check_given(operands));
  return check_all(halves_of(operands), operands.layer->tokens, stream);
}

// The second half is started behind the first in the caller's stream.
tilepost_result_t LayerOp::run(const tilepost_run_operands_t& operands, CUstream_st* stream) {
  TILEPOST_TRY(check_given(operands));
  const tilepost_layer_operands_t& layer = *operands.layer;
  const HalfOperands halves = halves_of(operands);
  TILEPOST_TRY(check_all(halves, layer.tokens, stream));
  if (layer.tokens != TILEPOST_ROUTED)
    TILEPOST_TRY(tilepost_routing_set(&routing_, layer.ids, layer.weights, layer.tokens, stream));
  TILEPOST_TRY(with_reason(first().run(halves.first, stream)));
  return with_reason(second().run(halves.second, stream));
}

tilepost_result_t LayerOp::route(const tilepost_route_t&, tilepost_arrivals_t*) {
  return refuse("tilepost_op_route");
}

tilepost_result_t LayerOp::register_output(void* buffer, int64_t bytes) {
  return with_reason(second().register_output(buffer, bytes));
}

tilepost_result_t LayerOp::unregister_output(const void* buffer) {
  return with_reason(second().unregister_output(buffer));
}

// A wrong id, or a rank that comes late with its ids, is found when the routing executes, which
// neither half knows.
tilepost_result_t LayerOp::status() {
  const tilepost_result_t routed = routing_.status();
  return is_reason(routed) ? routed : ComposedOp::status();
}

tilepost_result_t LayerOp::synchronize() {
  const tilepost_result_t result = ComposedOp::synchronize();
  if (result == TILEPOST_OK) return routing_.synchronize();
  const std::string text = tilepost_last_error();
  const tilepost_result_t routed = routing_.status();
  return is_reason(routed) ? routed : fail(result, "%s", text.c_str());
}

// The information of the second half, whose output is that of the layer.
tilepost_result_t LayerOp::get_info(tilepost_op_info_t& info) {
  TILEPOST_TRY(info_of(second(), info));
  info.device_bytes += shared_->made_bytes;
  return TILEPOST_OK;
}

void LayerOp::add_memory(tilepost_memory_t& memory) {
  ComposedOp::add_memory(memory);
  memory.device_bytes += shared_->made_bytes;
}

tilepost_result_t LayerOp::find_overlap(int64_t m, bool& overlaps) {
  bool of_second = false;
  TILEPOST_TRY(first().find_overlap(m, overlaps));
  TILEPOST_TRY(second().find_overlap(m, of_second));
  overlaps = overlaps || of_second;
  return TILEPOST_OK;
}

tilepost_result_t LayerOp::record_timeline() {
  return refuse("tilepost_op_record_timeline");
}

tilepost_result_t LayerOp::write_timeline(const char*) {
  return refuse("tilepost_op_write_timeline");
}

}  // namespace tilepost
