// Transport 'none': the whole GEMM and its collective, one after the other. Each has all of the GPU
// to itself.
#include "runtime/cuda/transport/nccl_collective.h"

namespace tilepost::cuda {

tilepost_result_t make_none(const TransportSetup& setup, Transports& transports) {
  std::vector<std::shared_ptr<ChildComm>> lanes(1);
  TILEPOST_TRY(setup.comm.child(0, 0, setup.deadline_seconds, lanes[0]));
  auto channel = std::make_shared<NcclChannel>(std::move(lanes));
  transports.sequence = std::make_unique<NcclCollective>(channel, setup.plan);
  transports.channels.push_back(std::move(channel));
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
