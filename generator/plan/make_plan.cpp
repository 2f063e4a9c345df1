#include "generator/plan/make_plan.h"

#include "generator/plan/draft.h"
#include "generator/plan/predict.h"
#include "llvm/Support/FormatVariadic.h"

namespace tilepost {
namespace {

static_assert(static_cast<int>(EpilogueOp::scale) == TILEPOST_SCALE &&
              static_cast<int>(EpilogueOp::scale_rows) == TILEPOST_SCALE_ROWS &&
              static_cast<int>(EpilogueOp::scale_columns) == TILEPOST_SCALE_COLUMNS &&
              static_cast<int>(EpilogueOp::bias) == TILEPOST_BIAS &&
              static_cast<int>(EpilogueOp::gelu) == TILEPOST_GELU &&
              static_cast<int>(EpilogueOp::silu) == TILEPOST_SILU &&
              static_cast<int>(EpilogueOp::residual) == TILEPOST_RESIDUAL);

bool take_problem(Draft& draft) {
  const Spec& spec = draft.spec;
  Plan& plan = draft.plan;
  plan.name = spec.name.value;
  plan.pattern = spec.pattern.value;
  plan.ranks = static_cast<int>(spec.ranks.value);
  plan.m = spec.gemm.m.value;
  plan.n = spec.gemm.n.value;
  plan.k = spec.gemm.k.value;
  plan.input = spec.gemm.a.value;
  plan.output = spec.gemm.out.value;
  plan.operands = spec.gemm.layout.value;
  plan.accumulate = spec.gemm.accumulate.value;
  for (const Located<EpilogueOp>& operation : spec.gemm.epilogue)
    plan.epilogue |= static_cast<int>(operation.value);
  plan.consumer = spec.consumer.value;
  plan.sms = spec.schedule.sms ? static_cast<int>(spec.schedule.sms->value)
                               : arch_info(plan.arch).default_sms;
  return true;
}

bool choose_layout(Draft& draft) {
  const auto& wish = draft.spec.schedule.layout;
  const bool open = wish.value == OutputLayout::automatic;
  draft.plan.layout = open ? OutputLayout::panel : wish.value;
  if (draft.plan.layout == OutputLayout::panel && draft.plan.consumer != Consumer::none) {
    draft.diagnostics.error(
        draft.spec.consumer.where,
        llvm::formatv("consumer '{0}' needs 'layout: tile': the output of layout 'panel'{1} is "
                      "row-major already; remove it or set the layout",
                      name_of(draft.plan.consumer), open ? ", the default," : ""));
    return false;
  }
  if (open)
    draft.because(communicates(draft.plan.pattern)
                      ? "layout panel: groups of whole rows are contiguous in a row-major output"
                      : "layout panel: the output is row-major");
  return true;
}

bool choose_wait(Draft& draft) {
  const Wait wish = draft.spec.schedule.wait.value;
  draft.plan.wait = wish == Wait::automatic ? Wait::poll : wish;
  return true;
}

bool order_tiles(Draft& draft) {
  Plan& plan = draft.plan;
  plan.map = build_tile_map(map_of(plan));
  plan.map_hash = hash_tile_map(plan.map);
  return true;
}

bool predict_schedule(Draft& draft) {
  Plan& plan = draft.plan;
  for (const KernelChoice& kernel : draft.kernels) {
    if (make_kernel(kernel.config, kernel.request).tunables != plan.kernel.tunables) continue;
    const double sequence = plan.prediction.sequence;
    const bool overlap = plan.transport != Transport::none;
    plan.prediction = predict(plan, model_gemm(plan, kernel.config, kernel.request, overlap));
    plan.prediction.sequence = sequence;
    break;
  }
  return true;
}

constexpr Pass kPasses[] = {
    take_problem,      // what the spec says
    choose_layout,     // where tiles go
    choose_wait,       // how groups are waited for
    select_kernels,    // which kernels can serve it
    choose_schedule,   // kernel, transport, SM budget and groups, jointly
    order_tiles,       // the tile map
    predict_schedule,  // the timeline
    verify_draft,      // every invariant, by other code
};

}  // namespace

bool verify_draft(Draft& draft) {
  const std::vector<std::string> wrong = verify_plan(draft.plan);
  for (const std::string& what : wrong)
    draft.diagnostics.error("internal error: the plan for '" + draft.plan.name + "' on " +
                            name_of(draft.plan.arch) + " is wrong: " + what);
  return wrong.empty();
}

tilepost_map_t map_of(const Plan& plan) {
  tilepost_map_t map = {};
  map.m = plan.m;
  map.n = plan.n;
  map.tile_m = plan.kernel.tile_m;
  map.tile_n = plan.kernel.tile_n;
  map.cluster = plan.kernel.cluster;
  map.band = plan.band;
  map.signals_per_tile = plan.kernel.signals_per_tile;
  map.layout = plan.layout == OutputLayout::panel ? TILEPOST_PANEL : TILEPOST_TILE;
  map.num_groups = static_cast<int32_t>(plan.cuts.size());
  map.cuts = plan.cuts.data();
  return map;
}

std::vector<Plan> make_plans(const Spec& spec, Diagnostics& diagnostics) {
  const int errors_before = diagnostics.errors();
  std::vector<Plan> plans;
  for (const Arch arch : spec.archs.value) {
    Draft draft{spec, diagnostics, {}, {}};
    draft.plan.arch = arch;
    bool ok = true;
    for (const Pass pass : kPasses) {
      ok = pass(draft);
      if (!ok) break;
    }
    if (ok) plans.push_back(std::move(draft.plan));
  }
  if (diagnostics.errors() != errors_before) plans.clear();
  return plans;
}

}  // namespace tilepost
