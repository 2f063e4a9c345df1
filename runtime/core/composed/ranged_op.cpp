#include "runtime/core/composed/ranged_op.h"

#include <ranges>

#include "runtime/core/error.h"
#include "runtime/core/ranges.h"
#include "runtime/map/run_path.h"

namespace tilepost {
namespace {

ComposedOp::Ops ops_of(std::vector<RangedOp::Part>& parts) {
  ComposedOp::Ops ops;
  for (RangedOp::Part& part : parts) ops.push_back(std::move(part.op));
  return ops;
}

}  // namespace

RangedOp::RangedOp(std::vector<Part> parts) : ComposedOp(ops_of(parts)) {
  for (const Part& part : parts) most_rows_.push_back(part.most_rows);
}

tilepost_result_t RangedOp::check(const tilepost_run_operands_t& operands, CUstream_st* stream) {
  return with_reason(ops()[range_of_run(most_rows_, operands.m)]->check(operands, stream));
}

tilepost_result_t RangedOp::run(const tilepost_run_operands_t& operands, CUstream_st* stream) {
  last_ = range_of_run(most_rows_, operands.m);
  return with_reason(ops()[last_]->run(operands, stream));
}

tilepost_result_t RangedOp::route(const tilepost_route_t& route, tilepost_arrivals_t* arrivals) {
  return first().route(route, arrivals);
}

// The parts in whose runs ranks store into each other's outputs. If there is none, this is the
// first part, whose error then gives the reason.
std::vector<tilepost_op*> RangedOp::registering() const {
  std::vector<tilepost_op*> found;
  for (const auto& op : ops()) {
    tilepost_op_info_t info{};
    if (op->get_info(info) == TILEPOST_OK && paths_of(*info.plan).planned.lends_out)
      found.push_back(op.get());
  }
  if (found.empty()) found.push_back(&first());
  return found;
}

// If one part refuses the buffer, no part keeps the buffer registered. All ranks get the same
// refusal.
tilepost_result_t RangedOp::register_output(void* buffer, int64_t bytes) {
  const std::vector<tilepost_op*> ops = registering();
  for (size_t i = 0; i < ops.size(); ++i) {
    const tilepost_result_t result = with_reason(ops[i]->register_output(buffer, bytes));
    if (result == TILEPOST_OK) continue;
    const std::string text = tilepost_last_error();
    for (tilepost_op* const op : std::views::take(ops, static_cast<ptrdiff_t>(i)))
      op->unregister_output(buffer);
    return fail(result, "%s", text.c_str());
  }
  return TILEPOST_OK;
}

tilepost_result_t RangedOp::unregister_output(const void* buffer) {
  for (tilepost_op* const op : registering())
    TILEPOST_TRY(with_reason(op->unregister_output(buffer)));
  return TILEPOST_OK;
}

tilepost_result_t RangedOp::record_timeline() {
  for (const auto& op : ops()) TILEPOST_TRY(with_reason(op->record_timeline()));
  return TILEPOST_OK;
}

// The part's whose run was called or captured last. Which graph was replayed last is not known
// here.
tilepost_result_t RangedOp::write_timeline(const char* path) {
  TILEPOST_TRY(synchronize());
  return with_reason(ops()[last_]->write_timeline(path));
}

// The information of the first part, which has room for all rows.
tilepost_result_t RangedOp::get_info(tilepost_op_info_t& info) {
  return info_of(first(), info);
}

tilepost_result_t RangedOp::find_overlap(int64_t m, bool& overlaps) {
  return ops()[range_of_run(most_rows_, m)]->find_overlap(m, overlaps);
}

}  // namespace tilepost
