// Exchanges numbers of the ranks of one host without NCCL.
#pragma once

#include <memory>

#include "runtime/cuda/shared/host/host_meeting.h"
#include "runtime/cuda/shared/number_exchange.h"
#include "runtime/cuda/shared/run_order.h"

namespace tilepost::cuda {

class HostChannel final : public ControlChannel {
 public:
  // `aborted` is the communicator's flag.
  HostChannel(std::shared_ptr<HostMeeting> meeting, AbortedFlag aborted)
      : meeting_(std::move(meeting)), aborted_(std::move(aborted)) {}

  bool meets_on_host() const override { return true; }
  tilepost_result_t exchange_on_host(std::span<const int64_t> own, std::vector<int64_t>& all,
                                     double seconds) override {
    return meeting_->exchange(own, all, seconds);
  }
  tilepost_result_t check_async() override { return TILEPOST_OK; }
  void abort() override {
    aborted_->store(true);
    meeting_->abort();
  }

 private:
  const std::shared_ptr<HostMeeting> meeting_;
  const AbortedFlag aborted_;
};

}  // namespace tilepost::cuda
