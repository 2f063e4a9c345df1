// Picks: the features of plans and candidates, and candidates found again by them.
#include "generator/plan/pick.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "generator/plan/choose/choices.h"
#include "generator/plan/kernels/kernels.h"
#include "generator/plan/transports/transports.h"
#include "runtime/map/cut_points.h"

namespace tilepost {
namespace {

// Whether the candidate has all features of the pick but groups and pace.
bool has_features(const Candidate& candidate, const Pick& pick) {
  Pick features = pick_of(candidate);
  features.cuts = pick.cuts;
  features.pace = pick.pace;
  return features == pick;
}

// Whether each cut ends a unit, and the last one the schedule.
bool are_cuts(const tilepost_map_t& map, const std::vector<int32_t>& cuts) {
  if (cuts.empty() || !std::ranges::is_sorted(cuts, std::less_equal<>())) return false;
  const int64_t units = cut_units(map);
  const auto ends_unit = [&](int32_t cut) {
    const bool own_share = map.division == TILEPOST_DIVISION_ARRIVALS && cut == 0;
    const int64_t unit = units_before(map, cut);
    return own_share || (unit > 0 && unit <= units && cut_after(map, unit).cut == cut);
  };
  return std::ranges::all_of(cuts, ends_unit) && cuts.back() == cut_after(map, units).cut;
}

// The first of the spec's fields that asks for something else than the pick has.
struct Contradiction {
  const char* field = nullptr;  // null: there is none
  Place where;
  std::string asked, picked;
};

std::string tile_text(int64_t tile_m, int64_t tile_n) {
  return fmt::format("[{}, {}]", tile_m, tile_n);
}

Contradiction contradiction(const Spec& spec, const Pick& pick) {
  const ScheduleSpec& schedule = spec.schedule;
  if (spec.transport.value && *spec.transport.value != pick.transport)
    return {"transport", spec.transport.where, name_of(*spec.transport.value),
            name_of(pick.transport)};
  if (schedule.tile &&
      (schedule.tile->value[0] != pick.tile_m || schedule.tile->value[1] != pick.tile_n))
    return {"schedule.tile", schedule.tile->where,
            tile_text(schedule.tile->value[0], schedule.tile->value[1]),
            tile_text(pick.tile_m, pick.tile_n)};
  const auto numbers = {std::tuple("schedule.stages", &schedule.stages, pick.stages),
                        std::tuple("schedule.cluster", &schedule.cluster, pick.cluster),
                        std::tuple("schedule.comm_sms", &schedule.comm_sms, pick.comm_ctas),
                        std::tuple("schedule.lanes", &schedule.lanes, pick.comm_lanes)};
  for (const auto& [field, asked, picked] : numbers)
    if (*asked && (*asked)->value != picked)
      return {field, (*asked)->where, std::to_string((*asked)->value), std::to_string(picked)};
  if (schedule.shots.value && *schedule.shots.value != pick.shots)
    return {"schedule.shots", schedule.shots.where, name_of(*schedule.shots.value),
            name_of(pick.shots)};
  return {};
}

std::string not_used(const TunedPick& tuned, const std::string& why) {
  return fmt::format("the choice of tuning file '{}' is not used: {}", tuned.by.file, why);
}

// The candidate of the pick, with the pick's groups; nothing if the spec or this version has none.
std::optional<Candidate> find(const Draft& draft, const Choices& choices, const Pick& pick) {
  for (const std::vector<Candidate>* all : {&choices.overlap, &choices.sequence})
    for (const Candidate& candidate : *all) {
      if (!has_features(candidate, pick)) continue;
      if (!candidate.overlaps() && !choices.may_follow) continue;
      if (candidate.cuts == pick.cuts) return candidate;
      // Groups that the spec asks for are those of the candidate.
      const bool fixed = choices.asks_groups || candidate.is_one_group() || !candidate.overlaps();
      if (fixed || draft.plan.arch == Arch::host) return std::nullopt;
      if (!are_cuts(candidate.problem.map, pick.cuts)) return std::nullopt;
      Candidate found = candidate;
      set_cuts(pick.cuts, found);
      return found;
    }
  return std::nullopt;
}

}  // namespace

Pick pick_of(const Candidate& candidate) {
  const KernelConfig& config = candidate.kernel->config;
  Pick pick;
  pick.transport = candidate.transport->row.value;
  pick.kernel = config.family->name();
  pick.variant = config.family->variant(config);
  pick.tile_m = config.tile_m;
  pick.tile_n = config.tile_n;
  pick.stages = config.stages;
  pick.cluster = candidate.kernel->request.cluster;
  pick.split_k = config.split_k;
  pick.across = config.across;
  pick.ctas_per_sm = config.ctas_per_sm;
  pick.comm_ctas = candidate.comm_ctas;
  pick.comm_lanes = candidate.comm_lanes;
  pick.task_parts = candidate.task_parts;
  pick.reads_own = candidate.reads_own;
  pick.fused = candidate.fused;
  pick.shots = candidate.shots;
  pick.cuts = candidate.cuts;
  return pick;
}

Pick pick_of(const Plan& plan) {
  Pick pick;
  pick.transport = plan.planned_transport;
  pick.kernel = plan.source.own ? "own" : plan.kernel.name;
  pick.variant = plan.source.variant;
  pick.tile_m = plan.map.tile_m;
  pick.tile_n = plan.map.tile_n;
  pick.stages = plan.source.stages;
  pick.cluster = plan.map.cluster;
  pick.split_k = plan.source.split_k;
  pick.across = plan.source.across;
  pick.ctas_per_sm = plan.kernel.ctas_per_sm;
  pick.comm_ctas = plan.comm_ctas;
  pick.comm_lanes = plan.comm_lanes;
  pick.task_parts = plan.task_parts;
  pick.reads_own = plan.reads_own != 0;
  pick.fused = plan.fused != 0;
  pick.shots = plan.shots;
  pick.cuts = plan.cuts();
  pick.pace = plan.pace;
  return pick;
}

std::string pick_text(const Pick& pick) {
  std::string text =
      fmt::format("{}, {} {}x{}", name_of(pick.transport), pick.kernel, pick.tile_m, pick.tile_n);
  if (!pick.variant.empty()) text += " " + pick.variant;
  if (pick.cluster > 1) text += fmt::format(" cluster {}", pick.cluster);
  if (pick.split_k > 1) text += fmt::format(" split_k {}", pick.split_k);
  if (pick.across > 1) text += fmt::format(" across {}", pick.across);
  text += fmt::format(", {} group{}", pick.cuts.size(), pick.cuts.size() == 1 ? "" : "s");
  if (pick.comm_ctas > 0) text += fmt::format(", {} CTAs", pick.comm_ctas);
  if (pick.comm_lanes > 1) text += fmt::format(" in {} lanes", pick.comm_lanes);
  if (pick.shots != TILEPOST_SHOTS_NONE) text += fmt::format(", {}", words_of(pick.shots));
  if (const int pace = pick.pace.value_or(0); pace > 0) text += fmt::format(", pace {}", pace);
  return text;
}

bool take_pick(Draft& draft, const Choices& choices, Candidate& chosen) {
  const TunedPick& tuned = *draft.picked;
  const Contradiction other = contradiction(draft.spec, tuned.pick);
  if (other.field != nullptr) {
    draft.diagnostics.note(
        other.where, not_used(tuned, fmt::format("{} is '{}' here, and '{}' there", other.field,
                                                 other.asked, other.picked)));
    return false;
  }
  const std::optional<Candidate> found = find(draft, choices, tuned.pick);
  if (found) {
    chosen = *found;
    draft.plan.tuned = tuned.by;
    if (tuned.by.known())
      draft.add_reason(fmt::format("tuning file '{}' has this choice: {:.1f} us measured on {}",
                                   tuned.by.file, tuned.by.us, tuned.by.machine));
    return true;
  }
  if (const auto& groups = draft.spec.schedule.groups)
    draft.diagnostics.note(groups->where, not_used(tuned, "schedule.groups asks for other groups"));
  else
    draft.diagnostics.warning(
        tuned.where,
        not_used(tuned, fmt::format("this spec does not allow '{}', or no kernel is like that; "
                                    "run 'tilepost tune' again",
                                    pick_text(tuned.pick))));
  return false;
}

}  // namespace tilepost
