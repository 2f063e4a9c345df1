#include "generator/plan/transports/transports.h"

namespace tilepost {
namespace {

// Whether ranks may be taken to share memory unasked.
bool may_share(const Draft& draft) {
  const Plan& plan = draft.plan;
  return plan.arch == Arch::sm_90a && plan.map.layout == TILEPOST_PANEL && plan.ranks > 1 &&
         plan.ranks <= kMostOnOneHost;
}

// Kernels that cannot are left out with the candidates.
bool may_store(const Draft& draft) {
  const Plan& plan = draft.plan;
  return plan.routing == TILEPOST_ROUTING_EVEN &&
         draft.spec.schedule.wait.value != TILEPOST_WAIT_STREAM;
}

}  // namespace

std::vector<tilepost_transport_t> transports_to_try(const Draft& draft) {
  const std::optional<tilepost_transport_t> wish = draft.spec.transport.value;
  if (!communicates(draft.plan.pattern) || wish == TILEPOST_TRANSPORT_NONE) return {};
  if (wish) return {*wish};
  std::vector<tilepost_transport_t> transports = {TILEPOST_TRANSPORT_NCCL};
  if (!may_share(draft)) return transports;
  transports.push_back(TILEPOST_TRANSPORT_COPY_ENGINE);
  if (may_store(draft)) transports.push_back(TILEPOST_TRANSPORT_PEER);
  return transports;
}

const char* needs_text(tilepost_transport_t transport) {
  switch (transport) {
    case TILEPOST_TRANSPORT_COPY_ENGINE:
    case TILEPOST_TRANSPORT_PEER:
      return "needs peer access between all ranks: create fails with the reason where there is "
             "none, then use transport: nccl";
    case TILEPOST_TRANSPORT_NCCL_SYMMETRIC:
      return "needs symmetric windows: where they register as nothing, NCCL takes ordinary "
             "buffers, "
             "and create says so";
    case TILEPOST_TRANSPORT_NCCL:
    case TILEPOST_TRANSPORT_NONE:
    case TILEPOST_TRANSPORT_HOST:
      break;
  }
  return "";
}

}  // namespace tilepost
