// Every rank keeps its own product, and rows of A are divided among experts on the device. The tile
// table of the plan is that of one expert with all rows. Which tiles other numbers of rows have
// follows from code that tests check for all numbers (tilepost/internal/expert_tiles.h).
#include <fmt/format.h>

#include "generator/plan/verify/parts.h"
#include "generator/plan/verify/traffic.h"
#include "tilepost/internal/expert_ops.h"
#include "tilepost/internal/expert_tiles.h"

namespace tilepost {
namespace {

// Whether boxes of B stay within their expert, or what they have of others does no harm. Elements
// of K behind an expert's last are multiplied by zeros of A, but not where they are another
// expert's, which may be infinite or NaN.
void check_boxes_of_b(const Plan& plan, Findings& findings) {
  const bool pairs = combines_gate(plan.epilogue) && plan.gate == TILEPOST_GATE_INTERLEAVED;
  const bool whole = plan.kernel.tile_k > 0 && plan.k % plan.kernel.tile_k == 0;
  if (plan.kernel.launch == TILEPOST_LAUNCH_TMA && (pairs || plan.operands == TILEPOST_NN) &&
      !whole)
    findings.add(fmt::format("stages of {0} elements of K, of which an expert has {1}",
                             plan.kernel.tile_k, plan.k));
}

}  // namespace

void verify_experts(const Plan& plan, Findings& findings) {
  if (!row_of(plan).has_experts()) {
    if (plan.experts != 0 || combines_gate(plan.epilogue))
      findings.add(fmt::format("{0} experts and epilogue {1:#x} with {2}", plan.experts,
                               plan.epilogue, name_of(plan.pattern)));
    return;
  }
  if (plan.experts < 1 || plan.experts > kMostExperts)
    findings.add(fmt::format("{0} experts, of 1 to {1}", plan.experts, kMostExperts));
  if (plan.map.tile_m % kExpertUnit != 0 || plan.map.cluster != 1)
    findings.add(fmt::format("tiles of {0} rows, {1} of them in a cluster, of experts",
                             plan.map.tile_m, plan.map.cluster));
  if ((plan.epilogue & TILEPOST_RESIDUAL) != 0) findings.add("a residual of routes");
  const int gates = plan.epilogue & kGateOps;
  if ((gates & (gates - 1)) != 0)
    findings.add(fmt::format("epilogue {0:#x} combines gate and up twice", plan.epilogue));
  check_boxes_of_b(plan, findings);
}

}  // namespace tilepost
