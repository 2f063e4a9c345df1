// Transport 'nccl': stock NCCL collectives for each group, on the SMs that the plan leaves free.
//
// With two lanes consecutive groups go to two communicators, whose collectives overlap: while one
// fills or drains its ring, the other has the links. Every rank issues the collectives in the same
// order, and the plan leaves SMs for both communicators. So no collective waits for one of the
// other communicator.
#include "runtime/cuda/transport/nccl_collective.h"

namespace tilepost::cuda {

tilepost_result_t make_nccl(const TransportSetup& setup, Transports& transports) {
  std::shared_ptr<NcclChannel> channel;
  TILEPOST_TRY(make_channel(setup, channel));
  transports.overlapping = std::make_unique<NcclCollective>(channel, setup.plan);
  transports.channels.push_back(std::move(channel));
  return rows_vary(setup.plan) ? make_none(setup, transports) : TILEPOST_OK;
}

}  // namespace tilepost::cuda
