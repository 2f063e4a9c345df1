#include "runtime/core/ranged_op.h"

#include <ranges>
#include <sstream>

#include "runtime/core/error.h"
#include "runtime/core/ranges.h"
#include "runtime/map/run_path.h"

namespace tilepost {
namespace {

// The weight of a part's result. Where the results of an operation's parts differ, the operation's
// result is the one of the greatest weight: first the reason of a failure, then that the operation
// was aborted, then that it is in progress.
int weight_of(tilepost_result_t result) {
  if (result == TILEPOST_OK) return 0;
  if (result == TILEPOST_IN_PROGRESS) return 1;
  return result == TILEPOST_ABORTED ? 2 : 3;
}

// The warnings of all parts. A line that several parts have appears once.
std::string joined(const std::vector<std::unique_ptr<tilepost_op>>& ops) {
  std::string text;
  for (const auto& op : ops) {
    std::istringstream lines(op->warnings());
    for (std::string line; std::getline(lines, line);)
      if (text.find(line + "\n") == std::string::npos) text += line + "\n";
  }
  return text;
}

}  // namespace

RangedOp::RangedOp(std::vector<Part> parts) {
  for (Part& part : parts) {
    ops_.push_back(std::move(part.op));
    most_rows_.push_back(part.most_rows);
  }
  warnings_ = joined(ops_);
}

tilepost_result_t RangedOp::run(const tilepost_run_operands_t& operands, CUstream_st* stream) {
  last_ = range_of_run(most_rows_, operands.m);
  return with_reason(ops_[last_]->run(operands, stream));
}

// Adds the reason to the error of a part that was aborted because another part failed. The aborted
// part does not know the reason.
tilepost_result_t RangedOp::with_reason(tilepost_result_t result) {
  if (result != TILEPOST_ABORTED) return result;
  const std::string text = tilepost_last_error();
  for (const auto& op : ops_)
    if (weight_of(op->status()) > weight_of(TILEPOST_ABORTED)) {
      const std::string reason = tilepost_last_error();
      return fail(result, "the communicator was aborted, make a new one; the reason: %s",
                  reason.c_str());
    }
  return fail(result, "%s", text.c_str());
}

tilepost_result_t RangedOp::worst_of(Call call) {
  tilepost_result_t worst = TILEPOST_OK;
  std::string text;
  for (const auto& op : ops_) {
    const tilepost_result_t result = (*op.*call)();
    if (weight_of(result) <= weight_of(worst)) continue;
    worst = result;
    if (weight_of(result) > 1) text = tilepost_last_error();
  }
  return weight_of(worst) > 1 ? fail(worst, "%s", text.c_str()) : worst;
}

tilepost_result_t RangedOp::status() {
  return worst_of(&tilepost_op::status);
}

tilepost_result_t RangedOp::synchronize() {
  return worst_of(&tilepost_op::synchronize);
}

tilepost_result_t RangedOp::route(const tilepost_route_t& route, tilepost_arrivals_t* arrivals) {
  return first().route(route, arrivals);
}

// The parts in whose runs ranks store into each other's outputs. If there is none, this is the
// first part, whose error then gives the reason.
std::vector<tilepost_op*> RangedOp::registering() const {
  std::vector<tilepost_op*> found;
  for (const auto& op : ops_) {
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
  for (const auto& op : ops_) TILEPOST_TRY(with_reason(op->record_timeline()));
  return TILEPOST_OK;
}

// The part's whose run was called or captured last. Which graph was replayed last is not known
// here.
tilepost_result_t RangedOp::write_timeline(const char* path) {
  TILEPOST_TRY(synchronize());
  return with_reason(ops_[last_]->write_timeline(path));
}

// The information of the first part, which has room for all rows, with the memory of all parts.
tilepost_result_t RangedOp::get_info(tilepost_op_info_t& info) {
  int64_t bytes = 0;
  for (const auto& op : ops_) {
    tilepost_op_info_t part{};
    TILEPOST_TRY(op->get_info(part));
    bytes += part.device_bytes;
  }
  const tilepost_result_t result = first().get_info(info);
  info.device_bytes = bytes;
  return result;
}

void RangedOp::add_memory(tilepost_memory_t& memory) {
  for (const auto& op : ops_) op->add_memory(memory);
}

tilepost_result_t RangedOp::find_overlap(int64_t m, bool& overlaps) {
  return ops_[range_of_run(most_rows_, m)]->find_overlap(m, overlaps);
}

}  // namespace tilepost
