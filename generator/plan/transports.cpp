#include "generator/plan/transports.h"

namespace tilepost {
namespace {

// Whether ranks may be taken to share memory unasked.
bool may_share(const Draft& draft) {
  const Plan& plan = draft.plan;
  return plan.arch == Arch::sm_90a && plan.layout == OutputLayout::panel && plan.ranks > 1 &&
         plan.ranks <= kMostOnOneHost;
}

// Kernels that cannot are left out with the candidates.
bool may_store(const Draft& draft) {
  const Plan& plan = draft.plan;
  return plan.routing == Routing::even && draft.spec.schedule.wait.value != Wait::stream;
}

}  // namespace

std::vector<Transport> transports_to_try(const Draft& draft) {
  const Transport wish = draft.spec.transport.value;
  if (!communicates(draft.plan.pattern) || wish == Transport::none) return {};
  if (wish != Transport::automatic) return {wish};
  std::vector<Transport> transports = {Transport::nccl};
  if (!may_share(draft)) return transports;
  transports.push_back(Transport::copy_engine);
  if (may_store(draft)) transports.push_back(Transport::peer);
  return transports;
}

const char* needs_text(Transport transport) {
  switch (transport) {
    case Transport::copy_engine:
    case Transport::peer:
      return "needs peer access between all ranks: create fails with the reason where there is "
             "none, then use transport: nccl";
    case Transport::nccl_symmetric:
      return "needs symmetric windows: where they register as nothing, NCCL takes ordinary "
             "buffers, "
             "and create says so";
    case Transport::automatic:
    case Transport::nccl:
    case Transport::none:
      break;
  }
  return "";
}

}  // namespace tilepost
