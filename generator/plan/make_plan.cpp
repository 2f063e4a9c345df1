#include "generator/plan/make_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>

#include "generator/plan/choose/draft.h"
#include "generator/plan/choose/ranges.h"
#include "generator/plan/choose/warnings.h"
#include "generator/plan/cost/predict.h"
#include "generator/plan/kernels/host/host.h"
#include "generator/plan/kernels/operands.h"
#include "generator/plan/report/describe.h"
#include "generator/silent_diagnostics.h"
#include "generator/spec/layer.h"
#include "generator/spec/rules/rules.h"

namespace tilepost {
namespace {

// Where products go to other ranks, a pass quantises what has come of them. It also makes tiles
// row-major. A pass that normalises quantises too.
tilepost_consumer_t consumer_of(const Spec& spec) {
  const tilepost_consumer_t asked = spec.consumer.value;
  const bool quantises =
      row_of(spec.gemm.out.value).is_narrow() && row_of(spec.pattern.value).moves_product();
  const bool norms =
      asked == TILEPOST_CONSUMER_RMS_NORM || asked == TILEPOST_CONSUMER_RESIDUAL_RMS_NORM;
  return quantises && !norms ? TILEPOST_CONSUMER_QUANTISE : asked;
}

bool take_problem(Draft& draft) {
  const Spec& spec = draft.spec;
  Plan& plan = draft.plan;
  plan.name = spec.name.value;
  plan.pattern = spec.pattern.value;
  plan.half = spec.half;
  plan.routing = spec.routing.value;
  plan.ranks = static_cast<int>(spec.ranks.value);
  plan.any_m = spec.gemm.any_m ? 1 : 0;
  plan.map.m = most_multiplied(spec);
  if (row_of(plan).input_is_routed()) plan.rows_sent = spec.gemm.m.value;
  plan.map.n = spec.gemm.n.value;
  plan.k = spec.gemm.k.value;
  plan.input = spec.gemm.a.value;
  plan.quantised = row_of(spec.gemm.out.value).is_narrow() ? 1 : 0;
  plan.output = plan.quantised != 0 ? row_of(plan.input).sums_to : spec.gemm.out.value;
  plan.scales_out = spec.gemm.scales_out.value;
  plan.operands = spec.gemm.layout.value;
  plan.accumulate = spec.gemm.accumulate.value;
  plan.scales = spec.gemm.scales.value;
  plan.scales_a = spec.gemm.scales_a.value;
  for (const Located<tilepost_epilogue_op_t>& operation : spec.gemm.epilogue)
    plan.epilogue |= static_cast<int>(operation.value);
  plan.experts = static_cast<int32_t>(spec.gemm.experts.value);
  if (row_of(plan).has_tokens()) {
    plan.experts /= plan.ranks;
    plan.top = static_cast<int32_t>(spec.gemm.top.value);
    const int64_t most = plan.map.m * plan.top;
    plan.most_rows = spec.max_rows ? std::min(spec.max_rows->value, most) : most;
  }
  plan.gate = spec.gemm.gate.value;
  plan.consumer = consumer_of(spec);
  plan.neighbours = spec.neighbours.value ? 1 : 0;
  const bool added = spec.schedule.sum.value == TILEPOST_SUM_ADDED;
  plan.sum = added && plan.arch != Arch::host ? TILEPOST_SUM_ADDED : TILEPOST_SUM_STAGED;
  const bool known = plan.arch == draft.profile.arch;
  plan.sms = spec.schedule.sms ? static_cast<int>(spec.schedule.sms->value)
             : known           ? static_cast<int>(draft.profile.chip.sms)
                               : arch_info(plan.arch).default_sms;
  return true;
}

bool choose_layout(Draft& draft) {
  const auto& wish = draft.spec.schedule.layout;
  const bool open = wish.value == std::nullopt;
  draft.plan.map.layout = wish.value.value_or(TILEPOST_PANEL);
  if (draft.plan.map.layout == TILEPOST_PANEL &&
      draft.plan.consumer == TILEPOST_CONSUMER_UNPERMUTE) {
    draft.diagnostics.error(
        draft.spec.consumer.where,
        fmt::format("consumer '{0}' needs 'layout: tile': the output of layout 'panel'{1} is "
                    "row-major already; remove it or set the layout",
                    name_of(draft.plan.consumer), open ? ", the default," : ""));
    return false;
  }
  if (open) draft.add_reason(std::string("layout panel: ") + panel_text(draft.plan.pattern));
  return true;
}

bool choose_wait(Draft& draft) {
  draft.plan.wait = draft.spec.schedule.wait.value.value_or(TILEPOST_WAIT_POLL);
  draft.plan.wait_us = draft.profile.collectives.wait_of(draft.plan.wait);
  return true;
}

bool order_draft(Draft& draft) {
  order_tiles(draft.plan);
  return true;
}

bool predict_schedule(Draft& draft) {
  const Prediction before = draft.plan.prediction;
  draft.plan.prediction = predict(draft.plan);
  draft.plan.prediction.sequence = before.sequence;
  draft.plan.prediction.sequence_gemm = before.sequence_gemm;
  return true;
}

constexpr Pass kPasses[] = {
    take_problem,      // what the spec says
    choose_layout,     // where tiles go
    choose_wait,       // how groups are waited for
    select_kernels,    // which kernels can serve the spec
    choose_schedule,   // kernel, transport, SM budget and groups, jointly
    order_draft,       // the tile map
    predict_schedule,  // the timeline
    verify_draft,      // every invariant, checked by other code
};

// What is planned, apart from the architecture.
struct Problem {
  const Spec& spec;
  const MachineProfile& profile;
  std::shared_ptr<const OwnKernel> own;
  HasKernel has_kernel = {};
};

Draft begin_draft(const Problem& problem, Arch arch, Diagnostics& diagnostics) {
  Draft draft{problem.spec, problem.profile, diagnostics, {}, {}, problem.own};
  draft.has_kernel = problem.has_kernel;
  draft.plan.profile = problem.profile.words();
  draft.plan.gpu = problem.profile.gpu;
  draft.plan.link_bytes_per_us = problem.profile.peers.link_bytes_per_us;
  draft.plan.arch = arch;
  return draft;
}

// Returns false after an error was reported.
bool complete(Draft& draft) {
  return std::ranges::all_of(kPasses, [&](Pass pass) { return pass(draft); });
}

// The predicted time of a plan of the spec, us; 0 if the spec has no plan.
double predicted_us(const Problem& problem, Arch arch) {
  SilentDiagnostics diagnostics;
  Draft draft = begin_draft(problem, arch, diagnostics);
  return complete(draft) ? draft.plan.prediction.total : 0;
}

// Predicts how long the plan would take without `neighbours`.
void predict_without_neighbours(Draft& draft) {
  if (draft.plan.neighbours == 0 || draft.plan.arch == Arch::host) return;
  Spec alone = draft.spec;
  alone.neighbours.value = false;
  draft.plan.prediction.without_neighbours =
      predicted_us({alone, draft.profile, draft.own}, draft.plan.arch);
}

// Whether the spec's own kernel was read. Reports that it was not.
bool is_read(const Spec& spec, const std::shared_ptr<const OwnKernel>& own,
             Diagnostics& diagnostics) {
  if (!spec.kernel || own) return true;
  diagnostics.error(spec.kernel->where,
                    "a kernel of your own is read by the tilepost tool; this program plans for "
                    "the bundled kernels alone");
  return false;
}

// ---- What is picked

// The plan of a pick; nothing if the spec has no such plan.
std::optional<Plan> picked_plan(const Problem& problem, Arch arch, const Pick& pick) {
  SilentDiagnostics diagnostics;
  const TunedPick picked{arch, pick, {}, {}};
  Draft draft = begin_draft(problem, arch, diagnostics);
  draft.picked = &picked;
  if (!complete(draft)) return std::nullopt;
  Pick made = pick_of(draft.plan);
  if (!pick.pace) made.pace.reset();
  if (made != pick) return std::nullopt;
  return std::move(draft.plan);
}

// The choice with stores at other paces, where it paces any: the profile has one pace for all
// shapes.
std::vector<Pick> paced_otherwise(const Pick& choice) {
  const int pace = choice.pace.value_or(0);
  if (pace == 0) return {};
  std::vector<Pick> picks(2, choice);
  picks[0].pace = pace / 2;
  picks[1].pace = pace + pace / 3;
  return picks;
}

// ---- Several plans for any m

// The most plans where the spec leaves their number open, on an architecture that is timed.
constexpr size_t kOpenKernels = TILEPOST_MOST_RANGES;

size_t most_kernels(const Spec& spec, Arch arch) {
  if (!why_one_kernel(spec).empty()) return 1;
  const auto& asked = spec.schedule.kernels;
  if (!asked) return arch == Arch::host ? 1 : kOpenKernels;
  return static_cast<size_t>(asked->value);
}

// A plan for runs of at most `rows` rows; nothing where the spec's wishes leave none.
std::optional<Plan> plan_for(const Problem& problem, Arch arch, int64_t rows) {
  SilentDiagnostics diagnostics;
  Spec spec = problem.spec;
  spec.gemm.m.value = rows;
  Draft draft =
      begin_draft({spec, problem.profile, problem.own, problem.has_kernel}, arch, diagnostics);
  if (!complete(draft)) return std::nullopt;
  return std::move(draft.plan);
}

// On the host nothing is timed: each plan is for a quarter of the rows of the one before it.
std::vector<Plan> host_ranges(const Problem& problem, const Plan& whole, size_t most) {
  std::vector<Plan> plans = {whole};
  for (int64_t rows = rows_of_runs(whole); plans.size() < most && rows > 1;) {
    rows = (rows + 3) / 4;
    if (auto plan = plan_for(problem, whole.arch, rows)) plans.push_back(std::move(*plan));
  }
  return plans;
}

// `whole`, and the plans that are faster with fewer rows.
std::vector<Plan> timed_ranges(const Problem& problem, const Plan& whole, size_t most) {
  const std::vector<int64_t> bounds = range_bounds(rows_of_runs(whole));
  const std::vector<int64_t> runs = range_runs(bounds);
  std::vector<Plan> tried;
  for (const int64_t rows : bounds)
    if (rows == bounds.back())
      tried.push_back(whole);
    else if (auto plan = plan_for(problem, whole.arch, rows))
      tried.push_back(std::move(*plan));
  std::vector<RangeTimes> times;
  times.reserve(tried.size());
  for (const Plan& plan : tried) times.push_back(times_of(plan, runs));
  std::vector<Plan> plans;
  for (const size_t chosen : best_ranges(times, most)) plans.push_back(std::move(tried[chosen]));
  std::ranges::reverse(plans);
  return plans;
}

// The plans of an operation: `whole`, which could serve all of its runs, and behind it those that
// serve runs of fewer and fewer rows in its place.
std::vector<Plan> share_runs(const Problem& problem, Plan whole) {
  const size_t most = most_kernels(problem.spec, whole.arch);
  if (most == 1) return {std::move(whole)};
  std::vector<Plan> plans = whole.arch == Arch::host ? host_ranges(problem, whole, most)
                                                     : timed_ranges(problem, whole, most);
  for (size_t i = 0; i < plans.size(); ++i) {
    plans[i].range = static_cast<int>(i);
    if (i + 1 < plans.size()) plans[i].least_m = rows_of_runs(plans[i + 1]) + 1;
  }
  return plans;
}

// ---- All architectures

// Plans a spec that is one operation.
std::vector<Plan> plan_operation(const Problem& problem, Diagnostics& diagnostics,
                                 std::span<const TunedPick> picks) {
  const int errors_before = diagnostics.errors();
  std::vector<Plan> plans;
  if (!is_read(problem.spec, problem.own, diagnostics)) return plans;
  for (const Arch arch : problem.spec.archs.value) {
    Draft draft = begin_draft(problem, arch, diagnostics);
    for (const TunedPick& picked : picks)
      if (picked.arch == arch) draft.picked = &picked;
    if (!complete(draft)) continue;
    predict_without_neighbours(draft);
    warn_of_plan(draft, [&](const Spec& other) {
      return predicted_us({other, problem.profile, problem.own}, arch);
    });
    for (Plan& plan : share_runs(problem, std::move(draft.plan))) plans.push_back(std::move(plan));
  }
  if (diagnostics.errors() != errors_before) plans.clear();
  return plans;
}

std::vector<Plan> plan_all(const Problem& problem, Diagnostics& diagnostics,
                           std::span<const TunedPick> picks) {
  if (!problem.spec.layer) return plan_operation(problem, diagnostics, picks);
  std::vector<Plan> plans;
  for (const Spec& spec : operations_of(problem.spec)) {
    std::vector<Plan> of_half =
        plan_operation({spec, problem.profile, nullptr, problem.has_kernel}, diagnostics, picks);
    if (of_half.empty() && spec.half == Half::second) note_second_half(spec, diagnostics);
    if (of_half.empty()) return {};
    std::ranges::move(of_half, std::back_inserter(plans));
  }
  return plans;
}

}  // namespace

bool verify_draft(Draft& draft) {
  const std::vector<std::string> wrong = verify_plan(draft.plan);
  for (const std::string& what : wrong)
    draft.diagnostics.error("internal error: the plan for '" + draft.plan.name + "' on " +
                            name_of(draft.plan.arch) + " is wrong: " + what);
  return wrong.empty();
}

void order_tiles(Plan& plan) {
  plan.set_tile_map(build_tile_map(plan.map));
  const auto waves = [&](int64_t positions) {
    return static_cast<int>((positions + plan.at_once() - 1) / plan.at_once());
  };
  plan.waves = waves(static_cast<int64_t>(plan.tile_map().tiles.size()));
  if (paths_of(plan).planned.waits == Waits::launches) {  // each launch has a last wave of its own
    plan.group_waves.clear();
    for (const tilepost_group_t& group : plan.tile_map().groups)
      plan.group_waves.push_back(waves(group.num_tiles));
    plan.waves = std::accumulate(plan.group_waves.begin(), plan.group_waves.end(), 0);
    return;
  }
  if (plan.map.division != TILEPOST_DIVISION_ARRIVALS) {
    const int counted = std::accumulate(plan.group_waves.begin(), plan.group_waves.end(), 0);
    plan.group_waves.back() += plan.waves - counted;
    return;
  }
  plan.group_waves.clear();
  for (const tilepost_group_t& group : plan.tile_map().groups)
    plan.group_waves.push_back(waves(int64_t{group.first_tile} + group.num_tiles) -
                               waves(group.first_tile));
}

std::vector<Plan> make_plans(const Spec& spec, const MachineProfile& profile,
                             Diagnostics& diagnostics, std::shared_ptr<const OwnKernel> own) {
  return make_plans(spec, profile, diagnostics, std::move(own), {});
}

std::vector<Plan> make_plans(const Spec& spec, const MachineProfile& profile,
                             Diagnostics& diagnostics, std::shared_ptr<const OwnKernel> own,
                             std::span<const TunedPick> picks) {
  return plan_all({spec, profile, std::move(own)}, diagnostics, picks);
}

std::vector<Plan> make_plans(const Spec& spec, const MachineProfile& profile,
                             Diagnostics& diagnostics, const HasKernel& has_kernel) {
  return plan_all({spec, profile, nullptr, has_kernel}, diagnostics, {});
}

VariantTimes times_of_kernels(const Spec& spec, const MachineProfile& profile, Arch arch,
                              int64_t rows) {
  SilentDiagnostics diagnostics;
  Spec run = spec;
  run.gemm.m.value = rows;
  VariantTimes times;
  Draft draft = begin_draft({run, profile, nullptr}, arch, diagnostics);
  draft.times = &times;
  return complete(draft) ? times : VariantTimes();
}

std::vector<Plan> candidate_plans(const Spec& spec, const MachineProfile& profile, Arch arch,
                                  size_t most, Diagnostics& diagnostics,
                                  std::shared_ptr<const OwnKernel> own) {
  if (!is_read(spec, own, diagnostics)) return {};
  const Problem problem{spec, profile, own};
  Draft draft = begin_draft(problem, arch, diagnostics);
  Listing listing{most, {}};
  draft.listing = &listing;
  if (!complete(draft)) return {};
  warn_of_plan(draft, [&](const Spec& other) { return predicted_us({other, profile, own}, arch); });
  std::vector<Plan> plans;
  const auto add = [&](Plan plan) {
    const Pick pick = pick_of(plan);
    const auto same = [&](const Plan& other) { return pick_of(other) == pick; };
    if (plans.size() < most && std::ranges::none_of(plans, same)) plans.push_back(std::move(plan));
  };
  const Pick choice = pick_of(draft.plan);
  add(std::move(draft.plan));
  std::vector<Pick> picks = paced_otherwise(choice);
  picks.insert(picks.end(), listing.picks.begin(), listing.picks.end());
  for (const Pick& pick : picks)
    if (std::optional<Plan> plan = picked_plan(problem, arch, pick)) add(std::move(*plan));
  std::stable_sort(plans.begin() + 1, plans.end(), [](const Plan& x, const Plan& y) {
    return x.prediction.total < y.prediction.total;
  });
  return plans;
}

Plan host_twin(const Plan& plan) {
  Plan twin = plan;
  const KernelConfig config = host_config(plan, plan.map.tile_m, plan.map.tile_n);
  KernelRequest request = request_for(plan);
  request_exchange(plan, request);
  request.cluster = plan.map.cluster;  // keeps the padding and the order of the tiles
  request.band = plan.map.band;
  twin.arch = Arch::host;
  twin.set_transport(plan.planned_transport);
  twin.set_kernel(make_kernel(config, request));
  twin.gemm_ctas = plan.at_once();  // one worker computes a tile, however many CTAs would
  twin.model.sequence_ctas = plan.model.sequence_ctas / plan.source.ctas_of_tile();
  twin.kernel.ctas_per_sm = plan.kernel.ctas_per_sm;     // the budget's waves stay as planned
  twin.map.signals_per_tile = signals_per_tile(config);  // gemm_host raises counters otherwise
  // The thread that communicates adds up or moves, as it does for tasks, and tiles need no turns.
  if (plan.fused != 0) {
    twin.task_parts = row_of(plan).sums ? plan.ranks : 1;
    twin.pushes = row_of(plan).product_spreads() ? 1 : 0;
  }
  twin.fused = 0;
  twin.map.turn = twin.map.lag = 0;
  twin.set_tile_map(build_tile_map(twin.map));
  twin.pace = 0;
  twin.reads_own = 0;              // gemm_host gets all rows in one place
  twin.row_gap = 0;                // gaps are for lines of a GPU's memory
  twin.whole_run = 0;              // the runtime begins and ends its runs
  twin.sum = TILEPOST_SUM_STAGED;  // gemm_host stores and does not add
  twin.prediction = {};
  if (plan.arch != Arch::host)
    twin.reasons = {std::string("the plan for ") + name_of(plan.arch) + ", computed on the host"};
  return twin;
}

Plan cpu_twin(const Plan& plan) {
  Plan twin = host_twin(plan);
  twin.source = plan.source;
  twin.kernel = plan.kernel;
  twin.kernel.launch = TILEPOST_LAUNCH_HOST;
  twin.kernel.arch = 0;
  twin.map.signals_per_tile = plan.map.signals_per_tile;
  twin.set_tile_map(build_tile_map(twin.map));
  return twin;
}

}  // namespace tilepost
