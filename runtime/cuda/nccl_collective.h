// The plan's collective on a child communicator: what the transports that use stock NCCL share.
#pragma once

#include <vector>

#include "runtime/cuda/check.h"
#include "runtime/cuda/transport.h"

namespace tilepost::cuda {

class NcclCollective : public Transport {
 public:
  // One communicator per lane.
  NcclCollective(std::vector<std::shared_ptr<ChildComm>> lanes, const tilepost_plan_t& plan)
      : lanes_(std::move(lanes)), plan_(plan) {}

  const char* collective() const override { return "AllReduce"; }

  tilepost_result_t communicate(void* buffer, const tilepost_group_t& block, int lane,
                                cudaStream_t stream) override {
    auto* first = static_cast<char*>(buffer) + block.offset * kElementBytes;
    return lanes_[lane]->all_reduce(first, block.count, plan_.output, stream);
  }

  tilepost_result_t check_async() override {
    for (const auto& comm : lanes_) TILEPOST_TRY(comm->check_async());
    return TILEPOST_OK;
  }
  void abort() override {
    for (const auto& comm : lanes_) comm->abort();
  }

 private:
  static constexpr int64_t kElementBytes = 2;  // bf16 and f16

  std::vector<std::shared_ptr<ChildComm>> lanes_;
  const tilepost_plan_t& plan_;
};

}  // namespace tilepost::cuda
