// Transport 'nccl_symmetric': stock NCCL collectives as transport nccl's, on memory that NCCL knows
// as a symmetric window, which its kernels move with fewer SMs. The caller's out is no window: what
// has come is copied there, on the lane's stream.
#include "runtime/cuda/transport/nccl_collective.h"
#include "runtime/cuda/transport/window_memory.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {
namespace {

class SymmetricTransport final : public Transport {
 public:
  SymmetricTransport(std::vector<std::shared_ptr<ChildComm>> lanes, const tilepost_plan_t& plan)
      : lanes_(std::move(lanes)), messages_(lanes_, plan), plan_(plan) {}

  tilepost_result_t create(const CudaComm& comm, double deadline_seconds) {
    return memory_.create({lanes_, messages_, comm.rank(), comm.world(), deadline_seconds},
                          window_layout(plan_, most_sizes(plan_)));
  }

  tilepost_result_t communicate(const Buffers& buffers, const GroupRun& run,
                                cudaStream_t stream) override {
    TILEPOST_TRY(messages_.communicate(buffers, run, stream));
    if (buffers.result == nullptr) return TILEPOST_OK;
    for (const Step& step : run.steps) TILEPOST_TRY(hand_out(buffers, step, stream));
    return TILEPOST_OK;
  }
  tilepost_result_t exchange(const int64_t* from, int64_t* to, size_t count,
                             cudaStream_t stream) override {
    return messages_.exchange(from, to, count, stream);
  }
  tilepost_result_t check_async() override { return messages_.check_async(); }
  void abort() override { messages_.abort(); }
  const WindowMemory* windows() const override { return &memory_; }
  void leak() override { memory_.leak(); }

 private:
  tilepost_result_t hand_out(const Buffers& buffers, const Step& step, cudaStream_t stream) const {
    switch (step.kind) {
      case StepKind::all_reduce:
        return copy(buffers, buffers.reduced, step.to, step.count, stream);
      case StepKind::reduce_scatter:
        return copy(buffers, buffers.out, step.to, step.keep, stream);
      case StepKind::receive:
        return copy(buffers, buffers.out, step.to, step.count, stream);
      default:
        return TILEPOST_OK;
    }
  }

  tilepost_result_t copy(const Buffers& buffers, const void* from, int64_t first, int64_t count,
                         cudaStream_t stream) const {
    if (count == 0) return TILEPOST_OK;
    const int64_t width = element_bytes(plan_.output);
    TILEPOST_CUDA(cudaMemcpyAsync(static_cast<char*>(buffers.result) + first * width,
                                  static_cast<const char*>(from) + first * width,
                                  static_cast<size_t>(count * width), cudaMemcpyDeviceToDevice,
                                  stream));
    return TILEPOST_OK;
  }

  std::vector<std::shared_ptr<ChildComm>> lanes_;
  NcclCollective messages_;
  const tilepost_plan_t& plan_;
  WindowMemory memory_;  // goes before the lanes, which know its windows
};

}  // namespace

tilepost_result_t make_nccl_symmetric_transport(CudaComm& comm, const tilepost_plan_t& plan,
                                                double deadline_seconds,
                                                std::unique_ptr<Transport>& transport) {
  std::vector<std::shared_ptr<ChildComm>> lanes;
  TILEPOST_TRY(make_lanes(comm, plan, lanes));
  auto made = std::make_unique<SymmetricTransport>(std::move(lanes), plan);
  TILEPOST_TRY(made->create(comm, deadline_seconds));
  transport = std::move(made);
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
