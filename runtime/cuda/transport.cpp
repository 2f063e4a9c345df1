#include "runtime/cuda/transport.h"

namespace tilepost::cuda {

tilepost_result_t make_transport(CudaComm& comm, const tilepost_plan_t& plan,
                                 std::unique_ptr<Transport>& transport) {
  if (plan.pattern == TILEPOST_GEMM) {
    transport = make_local_transport();
    return TILEPOST_OK;
  }
  switch (plan.transport) {
    case TILEPOST_TRANSPORT_NCCL:
      return make_nccl_transport(comm, plan, transport);
    case TILEPOST_TRANSPORT_NONE:
      return make_none_transport(comm, plan, transport);
    case TILEPOST_TRANSPORT_HOST:
      break;
  }
  return fail(TILEPOST_UNSUPPORTED, "transport %d is not one of the CUDA target's (none, nccl)",
              static_cast<int>(plan.transport));
}

}  // namespace tilepost::cuda
