// transport: nccl. A stock NCCL collective for each group.
#include "generator/plan/transports/models.h"
#include "generator/plan/transports/objects.h"

namespace tilepost {
namespace {

class Nccl final : public Transport {
 public:
  Nccl()
      : Transport(
            {.value = TILEPOST_TRANSPORT_NCCL, .overlaps = true, .windows = false, .needs = ""}) {}

  bool may_try(const Spec&, const Plan&, const MachineProfile&) const override { return true; }
  std::vector<CommChoice> choices(const Plan&, const MachineProfile& profile, int) const override {
    return profile.collectives.choices;
  }
  TransferModel model(const TransferProblem& problem) const override {
    return model_collectives(problem, problem.profile.collectives.groups);
  }
};

}  // namespace

const Transport& nccl_transport() {
  static const Nccl transport;
  return transport;
}

}  // namespace tilepost
