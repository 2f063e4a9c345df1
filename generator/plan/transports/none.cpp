// transport: none. The whole GEMM, then one collective; or the other way round.
#include "generator/plan/transports/models.h"
#include "generator/plan/transports/objects.h"

namespace tilepost {
namespace {

class None final : public Transport {
 public:
  None()
      : Transport(
            {.value = TILEPOST_TRANSPORT_NONE, .overlaps = false, .windows = false, .needs = ""}) {}

  // No SM is left free for the collective: it has all SMs when the GEMM has ended.
  std::vector<CommChoice> choices(const Plan&, const MachineProfile&, int) const override {
    return {{0, 1}};
  }
  TransferModel model(const TransferProblem& problem) const override {
    TransferModel model;
    model.wave = problem.wave;
    model.group = model_alone(problem.profile, problem.plan);
    return model;
  }
};

}  // namespace

const char* sequence_text(tilepost_pattern_t pattern) {
  return row_of(pattern).moves_input() ? "one collective, then the GEMM on all SMs"
                                       : "the GEMM on all SMs, then one collective";
}

const Transport& none_transport() {
  static const None transport;
  return transport;
}

}  // namespace tilepost
