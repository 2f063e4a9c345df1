#include "runtime/cuda/transport/transport.h"

namespace tilepost::cuda {

tilepost_result_t make_transports(CudaComm& comm, const tilepost_plan_t& plan,
                                  const tilepost_options_t& options, Transports& transports) {
  if (plan.pattern == TILEPOST_GEMM) {
    transports.sequence = make_local_transport();
    return TILEPOST_OK;
  }
  switch (plan.transport) {
    case TILEPOST_TRANSPORT_NCCL:
    case TILEPOST_TRANSPORT_NCCL_SYMMETRIC:
      TILEPOST_TRY(plan.transport == TILEPOST_TRANSPORT_NCCL
                       ? make_nccl_transport(comm, plan, transports.overlapping)
                       : make_nccl_symmetric_transport(comm, plan, options.deadline_seconds,
                                                       transports.overlapping));
      if (plan.any_m == 0) return TILEPOST_OK;
      [[fallthrough]];
    case TILEPOST_TRANSPORT_NONE:
      return make_none_transport(comm, plan, transports.sequence);
    case TILEPOST_TRANSPORT_COPY_ENGINE:
    case TILEPOST_TRANSPORT_PEER: {
      TILEPOST_TRY(make_none_transport(comm, plan, transports.sequence));
      const SharedSetup others{*transports.sequence, options.deadline_seconds,
                               options.share_memory != 0};
      return plan.transport == TILEPOST_TRANSPORT_PEER
                 ? make_peer_transport(comm, plan, others, transports.overlapping)
                 : make_copy_engine_transport(comm, plan, others, transports.overlapping);
    }
    case TILEPOST_TRANSPORT_HOST:
      break;
  }
  return fail(TILEPOST_UNSUPPORTED,
              "transport %d is not one of the CUDA target's (none, nccl, nccl_symmetric, "
              "copy_engine, peer); regenerate the program with one of these",
              static_cast<int>(plan.transport));
}

const char* collective_name(tilepost_pattern_t pattern) {
  switch (pattern) {
    case TILEPOST_GEMM:
      break;
    case TILEPOST_GEMM_ALL_REDUCE:
      return "AllReduce";
    case TILEPOST_GEMM_REDUCE_SCATTER:
      return "ReduceScatter";
    case TILEPOST_GEMM_ALL_TO_ALL:
      return "All-to-All";
    case TILEPOST_ALL_GATHER_GEMM:
      return "AllGather";
  }
  return "";
}

}  // namespace tilepost::cuda
