// Transport 'none': the whole GEMM and its collective, one after the other, each with all of the
// GPU to itself.
#include "runtime/cuda/transport/nccl_collective.h"

namespace tilepost::cuda {

tilepost_result_t make_none_transport(CudaComm& comm, const tilepost_plan_t& plan,
                                      std::unique_ptr<Transport>& transport) {
  std::vector<std::shared_ptr<ChildComm>> lanes(1);
  TILEPOST_TRY(comm.child(0, 0, lanes[0]));
  transport = std::make_unique<NcclCollective>(std::move(lanes), plan);
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
