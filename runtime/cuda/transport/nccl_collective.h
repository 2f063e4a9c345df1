// Carries out steps as stock NCCL calls on child communicators, for all transports that use NCCL.
#pragma once

#include <vector>

#include "runtime/cuda/transport/transport.h"

namespace tilepost::cuda {

// NCCL's name for a type of elements.
ncclDataType_t nccl_type(tilepost_dtype_t type);

// A plan's communicators, one for each lane. The caller's thread issues calls on them.
class NcclChannel final : public ControlChannel {
 public:
  explicit NcclChannel(std::vector<std::shared_ptr<ChildComm>> lanes) : lanes_(std::move(lanes)) {}

  const std::vector<std::shared_ptr<ChildComm>>& lanes() const { return lanes_; }

  // Uses the communicator of lane 0.
  tilepost_result_t exchange(const int64_t* from, int64_t* to, size_t count,
                             cudaStream_t stream) override;
  tilepost_result_t check_async() override;
  void abort() override;

 private:
  const std::vector<std::shared_ptr<ChildComm>> lanes_;
};

// Makes as many lanes as the plan has. Each gets an equal part of the plan's CTAs. Collective.
tilepost_result_t make_channel(const TransportSetup& setup, std::shared_ptr<NcclChannel>& channel);

// Carries out steps that are messages, with one NCCL call for each step or one group of calls for
// all steps of a group.
class NcclCollective final : public Transport {
 public:
  NcclCollective(std::shared_ptr<NcclChannel> channel, const tilepost_plan_t& plan)
      : channel_(std::move(channel)), plan_(plan) {}

  tilepost_result_t communicate(const Buffers& buffers, const GroupRun& run,
                                cudaStream_t stream) override;

 private:
  tilepost_result_t gather_at_once(const Buffers& buffers, const Step& step, int lane,
                                   cudaStream_t stream);
  tilepost_result_t copy_own_rows(const Buffers& buffers, const Step& step,
                                  cudaStream_t stream) const;
  tilepost_result_t copy_landed(const Buffers& buffers, const Step& step,
                                cudaStream_t stream) const;
  tilepost_result_t issue_scales(const Buffers& buffers, const Step& step, ncclComm_t comm,
                                 cudaStream_t stream) const;
  tilepost_result_t issue(const Buffers& buffers, const Step& step, ncclComm_t comm,
                          cudaStream_t stream) const;

  const std::shared_ptr<NcclChannel> channel_;
  const tilepost_plan_t& plan_;
};

}  // namespace tilepost::cuda
