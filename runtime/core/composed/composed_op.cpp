#include "runtime/core/composed/composed_op.h"

#include <sstream>

#include "runtime/core/error.h"

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
std::string joined(const ComposedOp::Ops& ops) {
  std::string text;
  for (const auto& op : ops) {
    std::istringstream lines(op->warnings());
    for (std::string line; std::getline(lines, line);)
      if (text.find(line + "\n") == std::string::npos) text += line + "\n";
  }
  return text;
}

}  // namespace

ComposedOp::ComposedOp(Ops ops, std::shared_ptr<const void> used)
    : used_(std::move(used)), ops_(std::move(ops)), warnings_(joined(ops_)) {}

bool ComposedOp::is_reason(tilepost_result_t result) {
  return weight_of(result) > weight_of(TILEPOST_ABORTED);
}

tilepost_result_t ComposedOp::with_reason(tilepost_result_t result) {
  if (result != TILEPOST_ABORTED) return result;
  const std::string text = tilepost_last_error();
  for (const auto& op : ops_)
    if (is_reason(op->status())) {
      const std::string reason = tilepost_last_error();
      return fail(result, "the communicator was aborted, make a new one; the reason: %s",
                  reason.c_str());
    }
  return fail(result, "%s", text.c_str());
}

tilepost_result_t ComposedOp::worst_of(Call call) {
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

tilepost_result_t ComposedOp::status() {
  return worst_of(&tilepost_op::status);
}

tilepost_result_t ComposedOp::synchronize() {
  return worst_of(&tilepost_op::synchronize);
}

void ComposedOp::add_memory(tilepost_memory_t& memory) {
  for (const auto& op : ops_) op->add_memory(memory);
}

tilepost_result_t ComposedOp::info_of(tilepost_op& part, tilepost_op_info_t& info) {
  int64_t bytes = 0;
  for (const auto& op : ops_) {
    tilepost_op_info_t of_op{};
    TILEPOST_TRY(op->get_info(of_op));
    bytes += of_op.device_bytes;
  }
  const tilepost_result_t result = part.get_info(info);
  info.device_bytes = bytes;
  return result;
}

}  // namespace tilepost
