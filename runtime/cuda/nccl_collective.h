// The plan's collective on a child communicator: what the transports that use stock NCCL share.
#pragma once

#include "runtime/cuda/transport.h"

namespace tilepost::cuda {

class NcclCollective : public Transport {
 public:
  NcclCollective(std::shared_ptr<ChildComm> comm, const tilepost_plan_t& plan)
      : comm_(std::move(comm)), plan_(plan) {}

  const char* collective() const override { return "AllReduce"; }

  tilepost_result_t communicate(void* buffer, const tilepost_group_t& block,
                                cudaStream_t stream) override {
    auto* first = static_cast<char*>(buffer) + block.offset * kElementBytes;
    return comm_->all_reduce(first, block.count, plan_.output, stream);
  }

  tilepost_result_t check_async() override { return comm_->check_async(); }
  void abort() override { comm_->abort(); }

 private:
  static constexpr int64_t kElementBytes = 2;  // bf16 and f16

  std::shared_ptr<ChildComm> comm_;
  const tilepost_plan_t& plan_;
};

}  // namespace tilepost::cuda
