// Transport 'nccl': stock NCCL collectives per group, on the SMs that the plan leaves free.
//
// With two lanes consecutive groups go to two communicators, whose collectives overlap: while one
// fills or drains its ring, the other has the links. Every rank issues them in the same order, and
// the plan leaves SMs for both, so that neither waits for the other's.
#include <algorithm>

#include "runtime/cuda/transport/nccl_collective.h"

namespace tilepost::cuda {

tilepost_result_t make_lanes(CudaComm& comm, const tilepost_plan_t& plan,
                             std::vector<std::shared_ptr<ChildComm>>& lanes) {
  const int num_lanes = std::max(1, plan.comm_lanes);
  lanes.resize(num_lanes);
  for (int lane = 0; lane < num_lanes; ++lane)
    TILEPOST_TRY(comm.child(plan.comm_ctas / num_lanes, lane, lanes[lane]));
  return TILEPOST_OK;
}

tilepost_result_t make_nccl_transport(CudaComm& comm, const tilepost_plan_t& plan,
                                      std::unique_ptr<Transport>& transport) {
  std::vector<std::shared_ptr<ChildComm>> lanes;
  TILEPOST_TRY(make_lanes(comm, plan, lanes));
  transport = std::make_unique<NcclCollective>(std::move(lanes), plan);
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
