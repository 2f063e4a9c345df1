// transport: nccl_symmetric. Like nccl, but out of symmetric windows.
#include "generator/plan/transports/models.h"
#include "generator/plan/transports/objects.h"
#include "generator/spec/text.h"

namespace tilepost {
namespace {

class NcclSymmetric final : public Transport {
 public:
  NcclSymmetric()
      : Transport({.value = TILEPOST_TRANSPORT_NCCL_SYMMETRIC,
                   .overlaps = true,
                   .windows = true,
                   .needs = "needs symmetric windows: where they register as nothing, NCCL takes "
                            "ordinary buffers, and create says so"}) {}

  void check(const Spec& spec, Diagnostics& diagnostics) const override;
  std::vector<CommChoice> choices(const Plan&, const MachineProfile& profile, int) const override {
    return profile.collectives.symmetric_choices;
  }
  TransferModel model(const TransferProblem& problem) const override {
    return model_collectives(problem, problem.profile.collectives.symmetric);
  }
};

// NCCL 2.28.3 hangs, or brings nothing, where one side of a message is in a window and the other is
// memory that it does not know.
void NcclSymmetric::check(const Spec& spec, Diagnostics& diagnostics) const {
  const PatternRow& pattern = row_of(spec.pattern.value);
  const bool routed = pattern.routes() && spec.routing.value != TILEPOST_ROUTING_EVEN;
  if (fits_windows(pattern, routed)) return;
  const char* where = pattern.input_is_routed() ? " sends rows of A from the caller's memory"
                                                : " receives routed rows in the caller's memory";
  diagnostics.error(
      spec.transport.where,
      "transport 'nccl_symmetric' moves what lies in symmetric windows, but pattern " +
          quote(pattern.name) + where + "; use copy_engine or nccl");
  diagnostics.note(spec.pattern.where, "pattern is given here");
}

}  // namespace

const Transport& nccl_symmetric_transport() {
  static const NcclSymmetric transport;
  return transport;
}

}  // namespace tilepost
