// transport: nccl_symmetric. As nccl, out of symmetric windows.
#include "generator/plan/transports/models.h"
#include "generator/plan/transports/objects.h"

namespace tilepost {
namespace {

class NcclSymmetric final : public Transport {
 public:
  NcclSymmetric()
      : Transport({.value = TILEPOST_TRANSPORT_NCCL_SYMMETRIC,
                   .c_name = "TILEPOST_TRANSPORT_NCCL_SYMMETRIC",
                   .overlaps = true,
                   .windows = true,
                   .needs = "needs symmetric windows: where they register as nothing, NCCL takes "
                            "ordinary buffers, and create says so"}) {}

  std::vector<CommChoice> choices(const Plan&, const MachineProfile& profile, int) const override {
    return profile.symmetric_choices;
  }
  TransferModel model(const TransferProblem& problem) const override {
    return model_collectives(problem, problem.profile.symmetric);
  }
};

}  // namespace

const Transport& nccl_symmetric_transport() {
  static const NcclSymmetric transport;
  return transport;
}

}  // namespace tilepost
