// Transport 'none': the whole GEMM, then one collective with all of the GPU to itself.
#include "runtime/cuda/nccl_collective.h"

namespace tilepost::cuda {
namespace {

class NoneTransport final : public NcclCollective {
 public:
  using NcclCollective::NcclCollective;
  bool overlaps() const override { return false; }
};

}  // namespace

tilepost_result_t make_none_transport(CudaComm& comm, const tilepost_plan_t& plan,
                                      std::unique_ptr<Transport>& transport) {
  std::shared_ptr<ChildComm> child;
  TILEPOST_TRY(comm.child(0, child));
  transport = std::make_unique<NoneTransport>(std::move(child), plan);
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
