#include "runtime/host/op.h"

#include "runtime/core/error.h"
#include "runtime/core/operands.h"

namespace tilepost {
namespace {

// Runs that may wait for their turn; posting another one waits for a free place.
constexpr size_t kQueueLength = 256;

tilepost_result_t check_alignment(const EpilogueOperand& operand) {
  if (reinterpret_cast<uintptr_t>(operand.pointer) % operand.alignment == 0) return TILEPOST_OK;
  return fail(TILEPOST_INVALID_ARGUMENT,
              "tilepost_op_run: %s is at %p, it must be aligned to %zu bytes", operand.name,
              operand.pointer, operand.alignment);
}

}  // namespace

HostOp::HostOp(std::shared_ptr<HostGroup> group, int rank, const char* name, HostPlan plan,
               int workers, double deadline_seconds)
    : group_(std::move(group)),
      rank_(rank),
      name_(name),
      plan_(*plan.plan),
      map_(std::move(plan.map)),
      deadline_seconds_(deadline_seconds),
      num_workers_(workers),
      counters_(map_.groups.size() * TILEPOST_COUNTER_STRIDE, 0),
      stream_(group_->stream(rank)),
      queue_(kQueueLength) {
  if (plan_.consumer == TILEPOST_CONSUMER_UNPERMUTE)
    staging_.assign(map_.send_elements, 0);
  else if (plan_.map.layout == TILEPOST_TILE)
    rows_ = destination_rows(map_);
  const int num_groups = plan_.map.num_groups;
  if (plan_.transport == TILEPOST_TRANSPORT_NONE)
    steps_.push_back({0, num_groups, 0, map_.send_elements});
  else
    for (int g = 0; g < num_groups; ++g)
      steps_.push_back({g, g + 1, map_.groups[g].offset, map_.groups[g].count});
  const std::lock_guard lock(stream_.mutex);
  operation_ = stream_.operations++;
}

HostOp::~HostOp() {
  {
    std::unique_lock lock(stream_.mutex);
    stream_.changed.wait(lock, [&] { return idle() || group_->ended(); });
    stop_ = true;
    stream_.changed.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void HostOp::start() {
  threads_.reserve(num_workers_ + 1);
  for (int worker = 0; worker < num_workers_; ++worker)
    threads_.emplace_back(&HostOp::work, this, worker);
  threads_.emplace_back(&HostOp::communicate, this);
}

tilepost_result_t HostOp::run(const tilepost_run_operands_t& operands, CUstream_st* stream) {
  if (stream != nullptr)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "tilepost_op_run: stream must be null on the host target");
  const EpilogueOperands epilogue(plan_, rank_, operands);
  if (const auto result = epilogue.check(); result != TILEPOST_OK) return result;
  const size_t input = plan_.input == TILEPOST_E4M3 ? 1 : sizeof(uint16_t);
  const EpilogueOperand pointers[] = {
      {"a", operands.a, input}, {"b", operands.b, input}, {"out", operands.out, sizeof(uint16_t)}};
  for (const EpilogueOperand& operand : pointers)
    if (const auto result = check_alignment(operand); result != TILEPOST_OK) return result;
  for (const EpilogueOperand& operand : epilogue.list())
    if (const auto result = check_alignment(operand); result != TILEPOST_OK) return result;
  std::unique_lock lock(stream_.mutex);
  stream_.changed.wait(lock,
                       [&] { return posted_ - finished_ < kQueueLength || group_->aborted(); });
  if (group_->aborted())
    return fail(TILEPOST_ABORTED, "the communicator was aborted; make a new one: %s",
                group_->failure_text());
  ++posted_;
  queue_[posted_ % kQueueLength] = {stream_.issued++, operands.a, operands.b, operands.out,
                                    epilogue.for_kernel()};
  stream_.changed.notify_all();
  return TILEPOST_OK;
}

// Requires idle() or an ended group: the error of an operation that still had runs is what ended
// them; the others learn that the communicator is gone.
tilepost_result_t HostOp::result() const {
  if (!group_->aborted()) return TILEPOST_OK;
  if (!idle()) return fail(group_->failure(), "%s", group_->failure_text());
  return fail(TILEPOST_ABORTED, "the communicator was aborted; make a new one: %s",
              group_->failure_text());
}

tilepost_result_t HostOp::status() {
  const std::lock_guard lock(stream_.mutex);
  return idle() || group_->ended() ? result() : TILEPOST_IN_PROGRESS;
}

tilepost_result_t HostOp::synchronize() {
  std::unique_lock lock(stream_.mutex);
  stream_.changed.wait(lock, [&] { return idle() || group_->ended(); });
  return result();
}

tilepost_result_t HostOp::get_info(tilepost_op_info_t& info) {
  const bool slots = !rows_.empty();
  info.plan = &plan_;
  info.rank = rank_;
  info.out_elements = slots ? map_.send_elements : plan_.map.m * plan_.map.n;
  info.device_bytes = static_cast<int64_t>(
      map_.tiles.size() * sizeof(tilepost_tile_t) +
      (map_.positions.size() + counters_.size() + rows_.size()) * sizeof(int32_t) +
      staging_.size() * sizeof(uint16_t));
  info.rows = slots ? rows_.data() : nullptr;
  return TILEPOST_OK;
}

}  // namespace tilepost
