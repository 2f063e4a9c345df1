#include "runtime/cuda/op/state/run_orders.h"

namespace tilepost::cuda {
namespace {

RunOrder::Run in_order(const Run& run, unsigned long long stream_id) {
  return {run.user, stream_id, run.path().waits_on_sms()};
}

}  // namespace

// In the order of shared memory all runs are exclusive, because even a run that does not overlap
// may have its output in that memory.
tilepost_result_t RunOrders::follow(const Run& run, unsigned long long stream_id) {
  RunOrder::Run mine = in_order(run, stream_id);
  if (comm_ != nullptr) TILEPOST_TRY(comm_->follow(in_comm_, mine));
  mine.exclusive = true;
  if (family_ != nullptr) TILEPOST_TRY(family_->follow(in_family_, mine));
  if (shared() == nullptr) return TILEPOST_OK;
  return shared()->follow(in_arena_, mine);
}

void RunOrders::add(const Run& run, unsigned long long stream_id) {
  RunOrder::Run mine = in_order(run, stream_id);
  if (comm_ != nullptr) comm_->add(in_comm_, mine, run.end);
  mine.exclusive = true;
  if (family_ != nullptr) family_->add(in_family_, mine, run.end);
  if (shared() != nullptr) shared()->add(in_arena_, mine, run.end);
}

void RunOrders::leave() {
  if (comm_ != nullptr) comm_->leave(in_comm_);
  if (family_ != nullptr) family_->leave(in_family_);
  if (shared() != nullptr) shared()->leave(in_arena_);
}

RunOrder* RunOrders::shared() const {
  return transports_.shared ? transports_.shared->order() : nullptr;
}

}  // namespace tilepost::cuda
