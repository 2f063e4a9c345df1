// The pass that chooses kernel, transport, SM budget and groups together. It predicts every
// combination that the spec leaves open and takes the one that ends first.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "generator/plan/choose/choices.h"
#include "generator/plan/kernels/operands.h"
#include "runtime/map/cut_points.h"
#include "runtime/map/moved_scales.h"

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
  const int cluster = last.request.cluster * ctas_of_tile(last.config);
  const int sms = draft.plan.sms;
  const Place where = schedule.sms ? schedule.sms->where : draft.spec.archs.where;
  if (!row_of(draft.plan).communicates())
    draft.diagnostics.error(where, fmt::format("{0} SMs are too few for a cluster of {1}; use "
                                               "more or a smaller 'cluster'",
                                               sms, cluster));
  else if (schedule.comm_sms)
    draft.diagnostics.error(
        schedule.comm_sms->where,
        fmt::format("comm_sms '{0}' leaves the GEMM no room on {1} SMs: with 1 SM for the waiter "
                    "and {2} for a cluster at most {3}",
                    schedule.comm_sms->value, sms, cluster, std::max(0, sms - 1 - cluster)));
  else
    draft.diagnostics.error(
        where,
        fmt::format("{0} SMs are too few: overlap needs {1} for a cluster, 1 for the collective "
                    "and 1 for the waiter; use more or 'transport: none'",
                    sms, cluster));
  return false;
}

// The smallest group that the candidate's division allows: "row panels of 256 rows".
std::string unit_name(const tilepost_map_t& map) {
  switch (map.division) {
    case TILEPOST_DIVISION_ARRIVALS:
      if (map.round_robin != 0)
        return fmt::format("bands of {0} in the other ranks' shares of {1} rows",
                           cut_after(map, 1).cut * map.tile_m, share_rows(map));
      [[fallthrough]];
    case TILEPOST_DIVISION_SHARES:
      return fmt::format("bands of {0} in each rank's share of {1} rows",
                         cut_after(map, 1).cut * map.tile_m, share_rows(map));
    case TILEPOST_DIVISION_COLUMNS:
      return fmt::format("tile columns of {0}", map.tile_n);
    case TILEPOST_DIVISION_ROWS:
      break;
  }
  return fmt::format("row panels of {0} rows", int64_t{map.tile_m} * map.cluster);
}

bool groups_do_not_fit(Draft& draft, const std::vector<int>& groups, const Candidate& open) {
  const GroupProblem& problem = open.problem;
  const tilepost_map_t& map = problem.map;
  const Place where = draft.spec.schedule.groups->where;
  const std::string tiles = fmt::format("{0} tiles of {1}x{2} on {3} CTAs", schedule_positions(map),
                                        map.tile_m, map.tile_n, open.gemm_ctas);
  const bool chunks = map.division == TILEPOST_DIVISION_ARRIVALS;
  if (!chunks && total_waves(groups) != open.waves)
    draft.diagnostics.error(
        where, fmt::format("groups sum to {0} waves, but {1} take {2} on {3}; make them sum to "
                           "{2} or set 'tile' and 'comm_sms' to match",
                           total_waves(groups), tiles, open.waves, name_of(draft.plan.arch)));
  else
    draft.diagnostics.error(
        where,
        fmt::format(
            "{0} groups, but {1} have only {2} {3} on {4}; ask for fewer groups{5}", groups.size(),
            tiles, max_groups(map, problem.at_once), unit_name(map), name_of(draft.plan.arch),
            chunks || map.division == TILEPOST_DIVISION_COLUMNS ? "" : " or 'layout: tile'"));
  return false;
}

// The spec's rules do not check groups with transport none, which has the whole schedule as its
// only group.
bool check_groups(Draft& draft, const std::optional<std::vector<int>>& groups) {
  const std::optional<tilepost_transport_t> wish = draft.spec.transport.value;
  if (!groups || groups->size() == 1 || !wish || transport_of(*wish).row.overlaps) return true;
  draft.diagnostics.error(
      draft.spec.schedule.groups->where,
      fmt::format("{0} groups, but transport 'none' sends everything at once; remove 'groups' or "
                  "use 'transport: nccl'",
                  groups->size()));
  return false;
}

// All overlapped candidates, transport by transport.
std::vector<Candidate> by_all_transports(const Draft& draft,
                                         const std::optional<std::vector<int>>& groups) {
  std::vector<Candidate> all;
  for (const Transport* transport : transports_to_try(draft.spec, draft.plan, draft.profile))
    for (Candidate& candidate : overlapped(draft, *transport, groups))
      all.push_back(std::move(candidate));
  return all;
}

// The best candidate. Within a transport best() decides. The best of each transport are compared by
// their ends with merged groups and doubt_of: transports differ in how many groups the model lets
// them save (SlackProfile), and in how sure their ends are.
const Candidate* best_of_transports(const Draft& draft, const std::vector<Candidate>& overlap) {
  const Candidate* least = nullptr;
  double end = std::numeric_limits<double>::infinity();
  for (size_t i = 0, behind = 0; i < overlap.size(); i = behind) {
    while (behind < overlap.size() && overlap[behind].transport == overlap[i].transport) ++behind;
    const Candidate* const own = best(std::span(overlap).subspan(i, behind - i), draft.profile);
    const double own_end = merged_end(*own) * (1 + doubt_of(draft, *own));
    if (own_end < end) least = own;
    end = std::min(end, own_end);
  }
  return least;
}

void take(Draft& draft, const Candidate& chosen) {
  Plan& plan = draft.plan;
  const KernelConfig& config = chosen.kernel->config;
  plan.set_transport(chosen.transport->row.value);
  plan.map = chosen.problem.map;
  plan.set_cuts(chosen.cuts);
  KernelRequest request = chosen.kernel->request;
  plan.task_parts = chosen.task_parts;
  plan.fused = chosen.fused ? 1 : 0;
  plan.shots = chosen.shots;
  plan.pushes = chosen.transport->pushes(plan) ? 1 : 0;
  plan.reads_own = chosen.reads_own ? 1 : 0;
  plan.row_gap = chosen.transport->row_gap(plan);
  plan.whole_run = chosen.transport->whole_run(plan) ? 1 : 0;
  request.fused = plan.fused != 0;
  request.sources = request.fused && row_of(plan).sums ? plan.ranks - 1 : 0;
  request.tasks = plan.task_parts > 0;
  request_exchange(plan, request);
  request.whole_run = plan.whole_run != 0;
  request.added = request_for(plan).added;
  request.scales_arrive =
      moved_scales(plan).exist() && paths_of(plan).planned.waits == Waits::tiles;
  plan.set_kernel(make_kernel(config, request));
  const MachineProfile& profile = draft.profile;
  plan.pace =
      pace_of(config, plan, plan.fused != 0 ? profile.peers.fused.paced : profile.gemm.paced);
  plan.model = chosen.problem.model;
  plan.comm_ctas = chosen.comm_ctas;
  plan.comm_lanes = chosen.comm_lanes;
  plan.gemm_ctas = chosen.gemm_ctas;
  plan.waves = static_cast<int>(chosen.waves);
  plan.group_waves = chosen.group_waves;
}

// The key of the kernel of the candidate's plan. Where the number of groups is part of the kernel,
// that is the number after merging.
std::string key_of(const Draft& draft, const Candidate& candidate, bool merges) {
  Draft other{draft.spec, draft.profile, draft.diagnostics, draft.plan, {}};
  Candidate planned = candidate;
  if (merges && candidate.overlaps() && !candidate.is_one_group() &&
      candidate.transport->whole_run(draft.plan) && row_of(draft.plan).moves_input())
    merge_groups(planned);
  take(other, planned);
  return variant_of(other.plan).key();
}

// Notes the times of the candidates, if anybody asks for them.
void note_times(const Draft& draft, const Choices& choices, bool merges) {
  if (draft.times == nullptr || draft.own) return;
  const auto note = [&](const Candidate& candidate) {
    const std::string key = key_of(draft, candidate, merges);
    const auto [noted, is_new] = draft.times->emplace(key, candidate.end);
    if (!is_new) noted->second = std::min(noted->second, candidate.end);
  };
  std::ranges::for_each(choices.overlap, note);
  if (choices.may_follow) std::ranges::for_each(choices.sequence, note);
}

// Keeps the candidates whose kernels there are. Returns false after it reported that there are
// none.
bool keep_available(Draft& draft, Choices& choices, bool merges) {
  if (!draft.has_kernel || draft.own) return true;
  const auto missing = [&](const Candidate& each) {
    return !draft.has_kernel(key_of(draft, each, merges));
  };
  std::erase_if(choices.overlap, missing);
  std::erase_if(choices.sequence, missing);
  if (!choices.overlap.empty() || (choices.may_follow && !choices.sequence.empty())) return true;
  draft.diagnostics.error(
      draft.spec.gemm.where,
      fmt::format("the catalogue has no kernel of {} for this spec; 'tilepost catalogue' adds the "
                  "kernels of the specs that it is given",
                  name_of(draft.plan.arch)));
  return false;
}

// What the spec asks of the schedule.
struct Wishes {
  std::optional<std::vector<int>> groups;
  bool overlap;       // whether groups may move beside the GEMM
  bool must_overlap;  // whether they must: transport, groups or SMs are asked for, or on the host
  bool always;        // whether runs with few rows overlap too: the spec asks for a transport
};

Wishes wishes_of(const Draft& draft) {
  const Spec& spec = draft.spec;
  const std::optional<tilepost_transport_t> wish = wish_of(spec, draft.plan);
  Wishes wishes;
  wishes.groups = asked_groups(spec);
  wishes.overlap = row_of(draft.plan).communicates() && (!wish || transport_of(*wish).row.overlaps);
  wishes.always = wishes.overlap && wish;
  wishes.must_overlap =
      wishes.always || (wishes.overlap &&
                        (wishes.groups || spec.schedule.comm_sms || draft.plan.arch == Arch::host));
  return wishes;
}

// Lists all candidates that may overlap, with the groups that are asked for. Returns false after it
// reported an error.
bool list_overlapped(Draft& draft, const Wishes& wishes, std::vector<Candidate>& overlap) {
  if (!wishes.overlap) return true;
  overlap = by_all_transports(draft, std::nullopt);
  if (overlap.empty() && wishes.must_overlap) return no_room(draft);
  if (!wishes.groups) return true;
  const std::vector<Candidate> open = std::move(overlap);
  overlap = by_all_transports(draft, wishes.groups);
  return !overlap.empty() || groups_do_not_fit(draft, *wishes.groups, *best(open, draft.profile));
}

}  // namespace

bool choose_schedule(Draft& draft) {
  const MachineProfile& profile = draft.profile;
  const Wishes wishes = wishes_of(draft);
  const std::optional<std::vector<int>>& groups = wishes.groups;
  if (!check_machine(draft.spec, draft.plan, profile, draft.diagnostics)) return false;
  if (!check_groups(draft, groups)) return false;
  Choices choices;
  choices.asks_groups = groups.has_value();
  choices.may_follow = !wishes.must_overlap;
  choices.sequence = in_sequence(draft);
  if (!list_overlapped(draft, wishes, choices.overlap)) return false;
  const bool merges = !groups && draft.plan.arch != Arch::host;
  if (!keep_available(draft, choices, merges)) return false;
  note_times(draft, choices, merges);
  const std::vector<Candidate>&sequence = choices.sequence, &overlap = choices.overlap;
  const Candidate* with = merges ? best_of_transports(draft, overlap) : best(overlap, profile);
  const Candidate* without = best(sequence, profile);
  if (!with && !without) return no_room(draft);
  const bool use_overlap =
      with && (wishes.must_overlap || !without ||
               overlap_pays(with->end, without->end, with->problem.model.margin));
  Candidate chosen = use_overlap ? *with : *without;
  const bool picked = draft.picked != nullptr && take_pick(draft, choices, chosen);
  if (groups && !chosen.overlaps() && total_waves(*groups) != chosen.waves)
    return groups_do_not_fit(draft, *groups, chosen);
  explain_choice(draft, overlap, sequence, chosen);
  if (!picked && use_overlap && merges && !chosen.is_one_group()) {
    const Candidate finest = chosen;
    merge_groups(chosen);
    explain_groups(draft, finest, chosen);
  }
  if (draft.listing != nullptr)
    draft.listing->picks = promising(draft, choices, chosen, draft.listing->most);
  take(draft, chosen);
  if (picked) draft.plan.pace = draft.picked->pick.pace.value_or(draft.plan.pace);
  // Sums at home take no longer than others, however few rows there are.
  if (wishes.always || path_of(draft.plan, true).sums_at_home) draft.plan.model.sequence_ctas = 0;
  const Candidate& in_turn = without ? *without : chosen;
  draft.plan.prediction.sequence = in_turn.end;
  draft.plan.prediction.sequence_gemm = in_turn.sequence_gemm;
  return true;
}

}  // namespace tilepost
