// Transport 'nccl_symmetric': stock NCCL collectives like those of transport nccl, but on memory
// that is a symmetric window of NCCL, which NCCL's kernels move with fewer SMs. The caller's out is
// no window. So results are copied there, on the lane's stream.
#include "runtime/cuda/transport/nccl_collective.h"
#include "runtime/cuda/transport/window_memory.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {
namespace {

class SymmetricTransport final : public Transport {
 public:
  SymmetricTransport(std::shared_ptr<NcclChannel> channel, const tilepost_plan_t& plan)
      : messages_(std::move(channel), plan), plan_(plan) {}

  tilepost_result_t communicate(const Buffers& buffers, const GroupRun& run,
                                cudaStream_t stream) override {
    TILEPOST_TRY(messages_.communicate(buffers, run, stream));
    if (buffers.result == nullptr) return TILEPOST_OK;
    for (const Step& step : run.steps) TILEPOST_TRY(hand_out(buffers, step, stream));
    return TILEPOST_OK;
  }

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

  NcclCollective messages_;
  const tilepost_plan_t& plan_;
};

}  // namespace

tilepost_result_t make_nccl_symmetric(const TransportSetup& setup, Transports& transports) {
  std::shared_ptr<NcclChannel> channel;
  TILEPOST_TRY(make_channel(setup, channel));
  auto windows = std::make_unique<WindowMemory>();
  const Communicator& comm = setup.comm;
  TILEPOST_TRY(windows->create(
      {channel->lanes(), *channel, comm.rank(), comm.world(), setup.deadline_seconds},
      window_layout(setup.plan, most_sizes(setup.plan))));
  transports.windows = std::move(windows);
  transports.overlapping = std::make_unique<SymmetricTransport>(channel, setup.plan);
  transports.channels.push_back(std::move(channel));
  return rows_vary(setup.plan) ? make_none(setup, transports) : TILEPOST_OK;
}

}  // namespace tilepost::cuda
