// Every rank keeps its own product, and rows of A are divided among experts on the device. The tile
// table of the plan is that of one expert with all rows. Which tiles other numbers of rows have
// follows from code that tests check for all numbers (tilepost/internal/expert_tiles.h).
#include <fmt/format.h>

#include "generator/plan/verify/parts.h"
#include "generator/plan/verify/traffic.h"
#include "tilepost/internal/expert_ops.h"
#include "tilepost/internal/route_recipe.h"
#include "tilepost/internal/token_tiles.h"

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

// Where tokens are gathered: tiles wait for groups, and their scales would have to move with them.
// Helper warps have no part in it, since another kernel pushes tokens.
bool gathers_as_it_may(const Plan& plan) {
  return plan.neighbours == 0 && plan.map.num_groups <= kMostTokenGroups && plan.task_parts == 0 &&
         plan.whole_run == 0 && (plan.epilogue & TILEPOST_SCALE_ROWS) == 0;
}

// Where the rows of tokens are summed: what a kernel behind the GEMM stores has whole rows, without
// gaps, side by side in slots, and 16-bit elements on GPUs.
bool sums_as_it_may(const Plan& plan) {
  const bool half = row_of(plan.output).is_half() || plan.arch == Arch::host;
  return plan.map.layout == TILEPOST_PANEL && plan.map.signals_per_tile == 1 && plan.row_gap == 0 &&
         plan.fused == 0 && plan.task_parts == 0 && plan.pushes == 0 &&
         plan.sum == TILEPOST_SUM_STAGED && half;
}

// Where tokens go to experts: how many rows there can be, and with which group a token comes.
void check_tokens(const Plan& plan, Findings& findings) {
  const bool none = plan.top == 0 && plan.most_rows == 0;
  const bool right = plan.top >= 1 && plan.top <= kMostTop && plan.most_rows >= 1 &&
                     plan.most_rows <= plan.map.m * plan.top &&
                     brings_tokens(plan.planned_transport) &&
                     (row_of(plan).combines() ? sums_as_it_may(plan) : gathers_as_it_may(plan));
  if (row_of(plan).has_tokens() ? !right : !none)
    findings.add(fmt::format("top {0} and {1} rows of {2} tokens in {3} groups by {4}", plan.top,
                             plan.most_rows, plan.map.m, plan.map.num_groups,
                             name_of(plan.planned_transport)));
}

}  // namespace

void verify_experts(const Plan& plan, Findings& findings) {
  if (!row_of(plan).has_experts()) {
    check_tokens(plan, findings);
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
  if ((plan.epilogue & TILEPOST_RESIDUAL) != 0 && !row_of(plan).combines())
    findings.add("a residual of routes");
  const int gates = plan.epilogue & kGateOps;
  if ((gates & (gates - 1)) != 0)
    findings.add(fmt::format("epilogue {0:#x} combines gate and up twice", plan.epilogue));
  check_boxes_of_b(plan, findings);
  check_tokens(plan, findings);
}

}  // namespace tilepost
