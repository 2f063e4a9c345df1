// Transport 'nccl': a stock NCCL collective per group, on the SMs that the plan leaves free.
#include "runtime/cuda/nccl_collective.h"

namespace tilepost::cuda {
namespace {

class NcclTransport final : public NcclCollective {
 public:
  using NcclCollective::NcclCollective;
  bool overlaps() const override { return true; }
};

}  // namespace

tilepost_result_t make_nccl_transport(CudaComm& comm, const tilepost_plan_t& plan,
                                      std::unique_ptr<Transport>& transport) {
  std::shared_ptr<ChildComm> child;
  TILEPOST_TRY(comm.child(plan.comm_ctas, child));
  transport = std::make_unique<NcclTransport>(std::move(child), plan);
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
