// The pass that chooses kernel, transport, SM budget and groups together: predicts every
// combination the spec leaves open and takes the one that ends first.
#include <algorithm>
#include <optional>
#include <utility>

#include "generator/plan/choose/candidates.h"
#include "generator/plan/choose/choose_reasons.h"
#include "generator/plan/choose/cuts.h"
#include "generator/plan/kernels/stores.h"
#include "generator/plan/transports/transports.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace tilepost {
namespace {

// What the spec's 'groups' ask for; nothing if it leaves them open.
std::optional<std::vector<int>> asked_groups(const Spec& spec) {
  if (!spec.schedule.groups) return std::nullopt;
  std::vector<int> waves;
  for (const int64_t value : spec.schedule.groups->value)
    waves.push_back(static_cast<int>(std::clamp<int64_t>(value, 0, 1 << 24)));
  return waves;
}

bool no_room(Draft& draft) {
  const ScheduleSpec& schedule = draft.spec.schedule;
  const KernelChoice& last = draft.kernels.back();
  const int cluster = last.request.cluster * last.config.split_k;
  const int sms = draft.plan.sms;
  const Place where = schedule.sms ? schedule.sms->where : draft.spec.archs.where;
  if (!communicates(draft.plan.pattern))
    draft.diagnostics.error(where, llvm::formatv("{0} SMs are too few for a cluster of {1}; use "
                                                 "more or a smaller 'cluster'",
                                                 sms, cluster));
  else if (schedule.comm_sms)
    draft.diagnostics.error(
        schedule.comm_sms->where,
        llvm::formatv("comm_sms '{0}' leaves the GEMM no room on {1} SMs: with 1 SM for the waiter "
                      "and {2} for a cluster at most {3}",
                      schedule.comm_sms->value, sms, cluster, std::max(0, sms - 1 - cluster)));
  else
    draft.diagnostics.error(
        where,
        llvm::formatv("{0} SMs are too few: overlap needs {1} for a cluster, 1 for the collective "
                      "and 1 for the waiter; use more or 'transport: none'",
                      sms, cluster));
  return false;
}

// What the least of a group is in the candidate's division: "row panels of 256 rows".
std::string unit_name(const tilepost_map_t& map) {
  switch (map.division) {
    case TILEPOST_DIVISION_ARRIVALS:
      if (map.round_robin != 0)
        return llvm::formatv("bands of {0} in the other ranks' shares of {1} rows",
                             cut_after(map, 1).cut * map.tile_m, share_rows(map));
      [[fallthrough]];
    case TILEPOST_DIVISION_SHARES:
      return llvm::formatv("bands of {0} in each rank's share of {1} rows",
                           cut_after(map, 1).cut * map.tile_m, share_rows(map));
    case TILEPOST_DIVISION_COLUMNS:
      return llvm::formatv("tile columns of {0}", map.tile_n);
    case TILEPOST_DIVISION_ROWS:
      break;
  }
  return llvm::formatv("row panels of {0} rows", int64_t{map.tile_m} * map.cluster);
}

bool groups_do_not_fit(Draft& draft, const std::vector<int>& groups, const Candidate& open) {
  const GroupProblem& problem = open.problem;
  const tilepost_map_t& map = problem.map;
  const Place where = draft.spec.schedule.groups->where;
  const std::string tiles =
      llvm::formatv("{0} tiles of {1}x{2} on {3} CTAs", schedule_positions(map), map.tile_m,
                    map.tile_n, open.gemm_ctas);
  const bool chunks = map.division == TILEPOST_DIVISION_ARRIVALS;
  if (!chunks && total_waves(groups) != open.waves)
    draft.diagnostics.error(
        where, llvm::formatv("groups sum to {0} waves, but {1} take {2} on {3}; make them sum to "
                             "{2} or set 'tile' and 'comm_sms' to match",
                             total_waves(groups), tiles, open.waves, name_of(draft.plan.arch)));
  else
    draft.diagnostics.error(
        where,
        llvm::formatv(
            "{0} groups, but {1} have only {2} {3} on {4}; ask for fewer groups{5}", groups.size(),
            tiles, max_groups(map, problem.at_once), unit_name(map), name_of(draft.plan.arch),
            chunks || map.division == TILEPOST_DIVISION_COLUMNS ? "" : " or 'layout: tile'"));
  return false;
}

bool check_wishes(Draft& draft, const std::optional<std::vector<int>>& groups) {
  const Spec& spec = draft.spec;
  if (spec.schedule.comm_sms && spec.schedule.comm_sms->value < 1 &&
      spec.transport.value != TILEPOST_TRANSPORT_NONE) {
    draft.diagnostics.error(spec.schedule.comm_sms->where,
                            llvm::formatv("comm_sms is '{0}', a collective needs at least 1",
                                          spec.schedule.comm_sms->value));
    return false;
  }
  const auto& lanes = spec.schedule.lanes;
  if (lanes && lanes->value > 1 && spec.pattern.value == TILEPOST_ALL_GATHER_GEMM) {
    draft.diagnostics.error(
        lanes->where, llvm::formatv("lanes is '{0}', but the chunks of all_gather_gemm have to "
                                    "arrive in order; use 1",
                                    lanes->value));
    return false;
  }
  if (!groups) return true;
  if (draft.plan.any_m) {
    draft.diagnostics.error(spec.schedule.groups->where,
                            "groups are of one m, but with 'm: {max: …}' every run has its own; "
                            "remove 'groups' or give one m");
    return false;
  }
  if (groups->empty() || llvm::any_of(*groups, [](int waves) { return waves < 1; })) {
    draft.diagnostics.error(
        spec.schedule.groups->where,
        "every group needs at least 1 wave, and there must be at least 1 group");
    return false;
  }
  if (spec.transport.value != TILEPOST_TRANSPORT_NONE || groups->size() == 1) return true;
  draft.diagnostics.error(
      spec.schedule.groups->where,
      llvm::formatv("{0} groups, but transport 'none' sends everything at once; remove 'groups' or "
                    "use 'transport: nccl'",
                    groups->size()));
  return false;
}

// All overlapped candidates, those of one transport after the other.
std::vector<Candidate> by_all_transports(const Draft& draft,
                                         const std::optional<std::vector<int>>& groups) {
  std::vector<Candidate> all;
  for (const tilepost_transport_t transport : transports_to_try(draft))
    for (Candidate& candidate : overlapped(draft, transport, groups))
      all.push_back(std::move(candidate));
  return all;
}

void take(Plan& plan, const Candidate& chosen) {
  plan.set_transport(chosen.transport);
  plan.map = chosen.problem.map;
  plan.set_cuts(chosen.cuts);
  plan.task_parts = chosen.task_parts;
  plan.pushes = pushes_of(plan) ? 1 : 0;
  KernelRequest request = chosen.kernel->request;
  request.tasks = plan.task_parts > 0;
  request.added = plan.access == TILEPOST_ACCESS_WRITE && plan.sum == TILEPOST_SUM_ADDED;
  plan.set_kernel(make_kernel(chosen.kernel->config, request));
  plan.pace = pace_of(chosen.kernel->config, plan);
  plan.model = chosen.problem.model;
  plan.comm_ctas = chosen.comm_ctas;
  plan.comm_lanes = chosen.comm_lanes;
  plan.gemm_ctas = chosen.gemm_ctas;
  plan.waves = static_cast<int>(chosen.waves);
  plan.group_waves = chosen.group_waves;
}

}  // namespace

bool choose_schedule(Draft& draft) {
  const Spec& spec = draft.spec;
  const std::optional<std::vector<int>> groups = asked_groups(spec);
  if (!check_wishes(draft, groups)) return false;
  const std::optional<tilepost_transport_t> wish =
      communicates(spec.pattern.value) ? spec.transport.value : TILEPOST_TRANSPORT_NONE;
  const bool asked = wish != TILEPOST_TRANSPORT_NONE && wish != std::nullopt;
  // Groups and a budget for the collective ask for overlap.
  const bool must_overlap =
      asked ||
      (wish == std::nullopt && (groups || spec.schedule.comm_sms || draft.plan.arch == Arch::host));
  const std::vector<Candidate> sequence = in_sequence(draft);
  std::vector<Candidate> overlap;
  if (wish != TILEPOST_TRANSPORT_NONE) {
    overlap = by_all_transports(draft, std::nullopt);
    if (overlap.empty() && must_overlap) return no_room(draft);
    if (groups) {
      const std::vector<Candidate> open = std::move(overlap);
      overlap = by_all_transports(draft, groups);
      if (overlap.empty()) return groups_do_not_fit(draft, *groups, *best(open));
    }
  }
  const Candidate* with = best(overlap);
  const Candidate* without = best(sequence);
  if (!with && !without) return no_room(draft);
  const bool use_overlap =
      with && (must_overlap || !without || overlap_pays(with->end, without->end));
  Candidate chosen = use_overlap ? *with : *without;
  if (groups && chosen.transport == TILEPOST_TRANSPORT_NONE && total_waves(*groups) != chosen.waves)
    return groups_do_not_fit(draft, *groups, chosen);
  explain_choice(draft, overlap, sequence, chosen);
  if (use_overlap && !groups && draft.plan.arch != Arch::host) {
    const Candidate finest = chosen;
    merge_groups(chosen);
    explain_groups(draft, finest, chosen);
  }
  take(draft.plan, chosen);
  // Who asks for overlap gets it with few rows too.
  if (asked) draft.plan.model.sequence_ctas = 0;

  const Candidate& baseline = without ? *without : chosen;
  draft.plan.prediction.sequence = baseline.end;
  return true;
}

}  // namespace tilepost
