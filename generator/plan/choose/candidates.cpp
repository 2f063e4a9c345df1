#include "generator/plan/choose/candidates.h"

#include <algorithm>
#include <climits>
#include <functional>
#include <iterator>
#include <limits>

#include "generator/plan/cost/predict.h"
#include "generator/plan/kernels/operands.h"
#include "runtime/map/cut_points.h"
#include "runtime/map/moved_scales.h"
#include "runtime/map/tile_map.h"
#include "runtime/schedule/run_map.h"
#include "tilepost/internal/token_tiles.h"

namespace tilepost {
namespace {

// ---- SMs

// The grid of the GEMM, in CTAs: a multiple of the cluster that leaves `comm_ctas` SMs to what
// moves groups and one SM to the waiter. It is the largest such grid, but no larger than all
// positions need at once. No SM is left free without overlap, or where nothing communicates on SMs
// beside the GEMM (`comm_ctas` is 0). The grid is 0 if not even one cluster fits. Where the waiter
// waits for tasks, all CTAs have an SM wherever it has its own.
int gemm_grid(const Draft& draft, const Candidate& candidate) {
  const KernelConfig& config = candidate.kernel->config;
  const int cluster = candidate.kernel->request.cluster * ctas_of_tile(config);
  const bool beside = candidate.overlaps() && candidate.comm_ctas > 0;
  const int left = beside ? draft.plan.sms - candidate.comm_ctas - 1 : draft.plan.sms;
  const int kept_out = beside && candidate.task_parts > 0 ? kept_out_by_waiter(cluster) : 0;
  const tilepost_map_t& map = candidate.problem.map;
  const int64_t positions =
      row_of(draft.plan).has_experts()
          ? most_tile_rows(most_rows_in(draft.plan, map.m), draft.plan.experts, map.tile_m) *
                tiles_n(map)
          : schedule_positions(map);
  const int64_t wanted = positions * ctas_of_tile(config);
  const int resident = resident_sms(draft.profile, draft.plan, cluster) - kept_out;
  const int64_t ctas = int64_t{std::min(left, resident)} * config.ctas_per_sm;
  return static_cast<int>(std::max<int64_t>(std::min(ctas, wanted), 0) / cluster * cluster);
}

// Whether the kernel's epilogue does all that crosses ranks. If the spec asks for groups or for
// communication SMs, other kernels do that. Beside neighbours an epilogue may not wait for other
// ranks. Rows that are not summed have to land in outputs, where nothing is left to do: if they
// land elsewhere, helper warps that move them beside the GEMM are faster than a copy behind it.
bool fuses(const Draft& draft, const KernelChoice& kernel, const Transport& transport) {
  const ScheduleSpec& schedule = draft.spec.schedule;
  const bool lands = row_of(draft.plan).sums || draft.spec.registered.value;
  return lands && !schedule.comm_sms && !schedule.groups && draft.plan.neighbours == 0 &&
         transport.fuses(kernel.config, draft.plan);
}

// tilepost_plan_t::task_parts for this kernel. If the spec asks for communication SMs, kernels on
// them do the work of helper warps. Beside neighbours helper warps get no tasks either: they would
// wait for other ranks, and the GEMM would hold its SMs meanwhile.
int task_parts(const Draft& draft, const KernelChoice& kernel, const Transport& transport) {
  if (draft.spec.schedule.comm_sms || draft.plan.neighbours != 0) return 0;
  return transport.task_parts(kernel.config, draft.plan);
}

// The choices that leave the GEMM at least half the SMs. A GPU that is too small for all of them
// gets one choice, a quarter of its SMs.
std::vector<CommChoice> fitting(std::vector<CommChoice> choices, int sms) {
  std::erase_if(choices, [&](const CommChoice& choice) { return 2 * choice.ctas > sms; });
  if (choices.empty()) choices.push_back({std::max(1, sms / 4), 1});
  return choices;
}

// The choices with the CTA count that the spec asks for. Lanes of NCCL's collectives share the
// CTAs, so that two lanes are tried only if each gets enough. Other lanes take no CTAs, but where
// ranks exchange messages there are at least as many CTAs as lanes.
std::vector<CommChoice> choices_with(const Draft& draft, const Transport& transport, int ctas) {
  if (transport.shares_memory()) return {{ctas, 2}, {ctas, 1}, {ctas, 3}};
  if (!transport.lanes_take_ctas() && ctas > 1) return {{ctas, 2}, {ctas, 1}};
  if (ctas < 2 * draft.profile.collectives.least_lane_ctas) return {{ctas, 1}};
  return {{ctas, 1}, {ctas, 2}};
}

// Each CTA count of `choices` once, with `lanes` lanes. A lane with a communicator of NCCL needs at
// least one CTA.
std::vector<CommChoice> with_lanes(const std::vector<CommChoice>& choices, int lanes,
                                   const Transport& transport) {
  std::vector<CommChoice> asked;
  for (const CommChoice& choice : choices) {
    const auto same = [&](const CommChoice& other) { return other.ctas == choice.ctas; };
    if ((choice.ctas >= lanes || transport.shares_memory()) && std::ranges::none_of(asked, same))
      asked.push_back({choice.ctas, lanes});
  }
  return asked;
}

// The CTA counts and lanes to try for what moves the groups, as far as the spec leaves them open.
std::vector<CommChoice> open_choices(const Draft& draft, const KernelChoice& kernel,
                                     const Transport& transport) {
  const ScheduleSpec& schedule = draft.spec.schedule;
  const Plan& plan = draft.plan;
  const int asked =
      schedule.comm_sms
          ? static_cast<int>(std::min<int64_t>(schedule.comm_sms->value, INT32_MAX / 2))
          : 1;
  const bool exchanges = transport.access() == TILEPOST_ACCESS_TILES;
  if (plan.arch == Arch::host) return {{exchanges ? 0 : asked, 1}};  // CTAs that move groups
  std::vector<CommChoice> choices =
      schedule.comm_sms
          ? choices_with(draft, transport, asked)
          : fitting(transport.choices(plan, draft.profile, task_parts(draft, kernel, transport)),
                    plan.sms);
  // A tile may also need rows of an earlier chunk, so that chunks take one lane, in order.
  if (row_of(plan).moves_input())
    std::erase_if(choices, [](const CommChoice& choice) { return choice.lanes > 1; });
  if (!schedule.lanes || exchanges) return choices;
  return with_lanes(choices, static_cast<int>(schedule.lanes->value), transport);
}

// ---- The model

// Bytes that one collective over the whole problem sends or brings in.
int64_t bytes_sent(const Plan& plan) {
  return plan.map.m *
         (row_of(plan).moves_input() ? moved_row_bytes(plan) : plan.map.n * bytes_of(plan.output));
}

GemmModel model_gemm(const Draft& draft, const KernelChoice& kernel, bool fused = false) {
  KernelRequest request = kernel.request;
  request.fused = fused;
  return kernel.config.family->model(draft.profile, draft.plan, kernel.config, request);
}

// By which factor the kernel's tiles take longer because of what goes on beside them.
double tiles_beside_transfers(const Draft& draft, const Candidate& candidate) {
  const KernelChoice& kernel = *candidate.kernel;
  const auto slower = [&](Beside what) {
    return kernel.config.family->slower_beside(draft.profile, kernel.config, kernel.request, what);
  };
  if (row_of(draft.plan).moves_input()) return candidate.overlaps() ? slower(Beside::rows_of_a) : 1;
  if (candidate.fused)
    return slower(row_of(draft.plan).product_spreads() ? Beside::pushed_sums : Beside::fused_sums);
  return candidate.task_parts > 0 ? slower(Beside::helper_tasks) : 1;
}

// By which factor a kernel that exchanges no tiles takes longer with the draft's number of rows
// than its model says.
double alone_factor(const Draft& draft, const Candidate& candidate) {
  if (candidate.shots != TILEPOST_SHOTS_NONE) return 1;
  return candidate.kernel->config.family->slower_alone(draft.profile, draft.plan.map.m);
}

TransferModel model_transfers(const Draft& draft, const Candidate& candidate) {
  const KernelConfig& config = candidate.kernel->config;
  const GemmModel gemm = model_gemm(draft, *candidate.kernel, candidate.fused);
  const int at_once = candidate.problem.at_once;
  const double tile_bytes = 1.0 * bytes_of(draft.plan.output) * config.tile_m * config.tile_n;
  const double alone = alone_factor(draft, candidate);
  const double wave = gemm.wave_on(at_once, alone * tiles_beside_transfers(draft, candidate));
  return candidate.transport->model(
      {.plan = draft.plan,
       .profile = draft.profile,
       .comm = {candidate.comm_ctas, candidate.comm_lanes},
       .wave = wave,
       .wave_beside = gemm.wave_on(at_once, alone * draft.profile.gemm.beside_collective),
       .computed = static_cast<double>(candidate.waves) * wave,
       .wave_bytes = at_once * config.split_k * tile_bytes,
       .tile_kib = tile_bytes / config.across / 1024,
       .bytes = static_cast<double>(bytes_sent(draft.plan)),
       .tile_rows = tiles_m(candidate.problem.map),
       .task_parts = candidate.task_parts,
       .reads_own = candidate.reads_own,
       .fused = candidate.fused,
       .shots = candidate.shots});
}

// Sets the fields of `model` for a run in sequence, with the same kernel on the grid of `sequence`.
// While a run communicates, the chip cools, and the GEMM clocks higher afterwards.
void model_sequence(const Draft& draft, const Candidate& sequence, tilepost_model_t& model) {
  const MachineProfile& profile = draft.profile;
  const GemmModel gemm = model_gemm(draft, *sequence.kernel);
  const TransferModel transfer = model_transfers(draft, sequence);
  const double hot = transfer.wave;
  const double computed = static_cast<double>(sequence.waves) * hot;
  const double sent = transfer.group.latency +
                      static_cast<double>(bytes_sent(draft.plan)) * transfer.group.per_byte;
  model.start = nine_digits(gemm.start);
  model.read_b = nine_digits(gemm.read_b);
  model.read_row = nine_digits(gemm.read_row);
  const double relief = gemm.clock_gain > 0 ? profile.gemm.relief * sent / (sent + computed) : 0;
  model.sequence_wave = nine_digits(std::max(hot * (1 - relief), gemm.wave * gemm.least_factor));
  model.sequence_latency = nine_digits(transfer.group.latency);
  model.sequence_per_byte = nine_digits(transfer.group.per_byte);
  model.sequence_ctas = sequence.gemm_ctas;
}

// Whether the kernel itself moves what the candidate computes, by helper warps or in its epilogue.
bool has_moving_tasks(const Draft& draft, const Candidate& candidate) {
  return (candidate.task_parts > 0 || candidate.fused) && !row_of(draft.plan).moves_input();
}

// tilepost_model_t::slack of an overlapped candidate.
double slack_of(const Draft& draft, const Candidate& candidate) {
  const SlackProfile& slack = draft.profile.accuracy.slack;
  const tilepost_map_t& map = candidate.problem.map;
  const bool hurried = candidate.task_parts > 0 || row_of(draft.plan).product_spreads();
  if (map.division == TILEPOST_DIVISION_ARRIVALS && hurried) return slack.rows;
  if (map.stagger == 0) return candidate.comm_lanes > 1 ? slack.lanes : slack.one_lane;
  if (!hurried) return slack.turns;
  const bool pushed = has_moving_tasks(draft, candidate) && row_of(draft.plan).product_spreads();
  return pushed ? slack.turns_pushed : slack.turns_hurried;
}

// tilepost_model_t::margin of an overlapped candidate.
double margin_of(const Draft& draft, const Candidate& candidate) {
  const MachineProfile& profile = draft.profile;
  if (!has_moving_tasks(draft, candidate)) return profile.accuracy.margin;
  return 1 - (1 - profile.accuracy.margin) * (1 + profile.accuracy.doubt);
}

void model_overlap(const Draft& draft, const Candidate& candidate, tilepost_model_t& model) {
  const TransferModel transfers = model_transfers(draft, candidate);
  // The copy of the own rows comes before everything, unless the kernel reads them where they are.
  const bool copied = row_of(draft.plan).moves_input() && !candidate.reads_own &&
                      candidate.shots == TILEPOST_SHOTS_NONE;
  const GroupProblem& problem = candidate.problem;
  const double bytes = static_cast<double>(share_rows(problem.map) * problem.unit_bytes);
  const double own = copied ? copy_us(draft.profile, bytes) : 0;
  model.wave = nine_digits(transfers.wave);
  model.wait = nine_digits(own + transfers.announce);
  model.latency = nine_digits(transfers.group.latency);
  model.per_byte = nine_digits(transfers.group.per_byte);
  model.tail = nine_digits(transfers.group.tail);
  model.most_bytes = transfers.most_bytes;
  model.slack = nine_digits(slack_of(draft, candidate));
  model.margin = nine_digits(margin_of(draft, candidate));
}

// ---- Candidates

// A candidate with a kernel and an SM budget, still without groups and model. Returns nothing if
// the candidate's map cannot be addressed or the GEMM gets no SM.
std::optional<Candidate> begin(const Draft& draft, const KernelChoice& kernel,
                               const Transport& transport, CommChoice comm, bool fused = false) {
  Candidate candidate;
  candidate.kernel = &kernel;
  candidate.transport = &transport;
  candidate.comm_ctas = comm.ctas;
  candidate.comm_lanes = comm.lanes;
  candidate.task_parts = fused ? 0 : task_parts(draft, kernel, transport);
  candidate.fused = fused;
  candidate.reads_own = transport.reads_own(kernel.config, draft.plan, candidate.task_parts);
  GroupProblem& problem = candidate.problem;
  problem.map = draft.recipe(kernel, transport.row.value);
  problem.unit_bytes = unit_bytes(draft.plan, problem.map.division);
  problem.launches = path_of(draft.plan, candidate.overlaps()).waits == Waits::launches;
  if (!can_address(problem.map)) return std::nullopt;
  candidate.gemm_ctas = gemm_grid(draft, candidate);
  if (candidate.gemm_ctas == 0) return std::nullopt;
  const int ctas = ctas_of_tile(kernel.config);
  problem.at_once = candidate.gemm_ctas / ctas;
  candidate.waves = schedule_waves(problem.map, problem.at_once);
  // The GEMM takes the fewest SMs that need no more waves: the others stay idle, and those that
  // work clock higher. With experts the number of waves is known on the device alone.
  if (!candidate.overlaps() && !row_of(draft.plan).has_experts())
    problem.at_once = static_cast<int>(least_at_once(problem.map, candidate.waves));
  candidate.gemm_ctas = problem.at_once * ctas;
  // Shares take turns, whether results are stored or copied, so that ranks do not all use one link
  // or the memory of one rank at the same time.
  if (transport.shares_memory() && problem.map.division == TILEPOST_DIVISION_SHARES)
    problem.map.stagger = problem.at_once;
  // A wave has two turns of every share, so that links are never idle. A tile of the own share
  // comes two turns after its sources, so that the sources have a wave's time to arrive.
  if (candidate.fused) {
    const int clusters = problem.at_once / problem.map.cluster;
    problem.map.turn = std::max(1, clusters / (2 * draft.plan.ranks)) * problem.map.cluster;
    problem.map.lag = 2;
    candidate.waves = schedule_waves(problem.map, problem.at_once);
  }
  return candidate;
}

// A candidate in sequence: the whole GEMM, then one collective, or the other way round.
std::optional<Candidate> begin_sequence(const Draft& draft, const KernelChoice& kernel) {
  const Transport& none = transport_of(TILEPOST_TRANSPORT_NONE);
  return begin(draft, kernel, none, none.choices(draft.plan, draft.profile, 0).front());
}

// Sets the model of an overlapped candidate. The model also has the time of a run in sequence,
// because a run with few rows compares the two.
void model_both(const Draft& draft, Candidate& candidate) {
  if (draft.plan.arch == Arch::host) return;  // not timed
  model_overlap(draft, candidate, candidate.problem.model);
  if (const auto sequence = begin_sequence(draft, *candidate.kernel))
    model_sequence(draft, *sequence, candidate.problem.model);
}

// Sets when the candidate ends: at `end`, which the search for groups found, or later with padding.
void take_end(double end, Candidate& candidate) {
  candidate.end = std::max(end, end_with_padding(candidate.problem, candidate.cuts));
}

void take(const Groups& groups, Candidate& candidate) {
  candidate.cuts = groups.cuts;
  candidate.group_waves = groups.waves;
  take_end(groups.end, candidate);
}

// Takes the groups that end first. Where there is only one group, takes that one. On the host,
// where nothing is timed, takes even groups.
void take_best(const Draft& draft, Candidate& candidate) {
  const GroupProblem& problem = candidate.problem;
  const int most = row_of(draft.plan).dispatches() ? kMostTokenGroups : INT_MAX;
  if (!candidate.is_one_group()) {
    if (draft.plan.arch == Arch::host) return take(even_groups(problem, most), candidate);
    Groups best = best_groups(problem);
    if (static_cast<int>(best.cuts.size()) > most) best = fewest_groups(problem, most);
    return take(best, candidate);
  }
  if (problem.map.division == TILEPOST_DIVISION_ARRIVALS) {
    candidate.cuts = cuts_of_chunks(problem.map, {1});
  } else {
    candidate.group_waves = {static_cast<int>(candidate.waves)};
    candidate.cuts = cuts_of_waves(problem.map, problem.at_once, candidate.group_waves);
  }
  take_end(end_of_groups(problem, candidate.cuts), candidate);
}

// Takes the groups that the user asked for. Returns false if they do not fit.
bool take_groups(const std::vector<int>& asked, Candidate& candidate) {
  const GroupProblem& problem = candidate.problem;
  if (static_cast<int64_t>(asked.size()) > max_groups(problem.map, problem.at_once)) return false;
  if (problem.map.division == TILEPOST_DIVISION_ARRIVALS) {
    candidate.cuts = cuts_of_chunks(problem.map, asked);
  } else {
    if (total_waves(asked) != candidate.waves) return false;
    candidate.group_waves = asked;
    candidate.cuts = cuts_of_waves(problem.map, problem.at_once, asked);
  }
  take_end(end_of_groups(problem, candidate.cuts), candidate);
  return true;
}

// Whether the problem has so many rows that the kernel is offered for exchanging tiles only.
bool only_exchanges(const Draft& draft, const KernelChoice& kernel) {
  return draft.plan.map.m > kernel.config.family->most_rows();
}

// Returns a filter for the draft's kernels: whether a kernel may overlap with a transport, if the
// transport serves it. Any kernel may where A arrives by copies and stores, which take no SMs, and
// where kernels exchange tiles. Otherwise only kernels for tasks whose helper warps have tasks may.
// If there are none, only kernels may that were timed beside collectives. If none of these has the
// tile either, any kernel may.
std::function<bool(const KernelChoice&)> filter_of(const Draft& draft, const Transport& transport) {
  const auto has_tasks = [&](const KernelChoice& kernel) {
    return task_parts(draft, kernel, transport) > 0;
  };
  const auto helped = [=](const KernelChoice& kernel) {
    return is_for_tasks(kernel.config) && has_tasks(kernel);
  };
  const auto timed = [&](const KernelChoice& kernel) {
    return draft.profile.gemm.times_of(kernel.config.row).beside;
  };
  const bool exchanges = transport.access() == TILEPOST_ACCESS_TILES;
  const bool waits = division_of(draft.plan, transport.row.value) == TILEPOST_DIVISION_ARRIVALS;
  const bool helps = std::ranges::any_of(draft.kernels, helped);
  if (!exchanges && !(waits && transport.shares_memory())) {
    if (helps) return helped;
    if (std::ranges::any_of(draft.kernels, timed)) return timed;
  }
  return [=](const KernelChoice& kernel) {
    // A timed kernel that leaves room for a helper warp is listed twice, once for tasks.
    const bool twin = helps && timed(kernel) && has_tasks(kernel);
    return is_for_tasks(kernel.config) ? helped(kernel) : !twin;
  };
}

// The draft's kernels that can overlap with the transport.
std::vector<const KernelChoice*> kernels_with(const Draft& draft, const Transport& transport) {
  if (!why_not_division(draft, transport.row.value).empty()) return {};
  const bool exchanges = transport.access() == TILEPOST_ACCESS_TILES;
  const bool waits = division_of(draft.plan, transport.row.value) == TILEPOST_DIVISION_ARRIVALS;
  const auto may = filter_of(draft, transport);
  std::vector<const KernelChoice*> kernels;
  for (const KernelChoice& kernel : draft.kernels) {
    if (!may(kernel) || (!exchanges && only_exchanges(draft, kernel))) continue;
    if (waits && !exchanges && !kernel.config.family->waits_for_rows()) continue;
    const int parts = task_parts(draft, kernel, transport);
    if (transport.serves(draft.plan, draft.kernels, kernel.config, parts))
      kernels.push_back(&kernel);
  }
  return kernels;
}

// Candidates whose epilogue does all that crosses ranks. There are none on more ranks than such
// kernels were measured on.
std::vector<Candidate> fused_candidates(const Draft& draft, const Transport& transport) {
  std::vector<Candidate> candidates;
  if (draft.plan.ranks > draft.profile.peers.fused.most_ranks) return candidates;
  for (const KernelChoice& kernel : draft.kernels) {
    if (!fuses(draft, kernel, transport)) continue;
    std::optional<Candidate> candidate = begin(draft, kernel, transport, {0, 1}, true);
    if (!candidate) continue;
    model_both(draft, *candidate);
    take_best(draft, *candidate);
    candidates.push_back(std::move(*candidate));
  }
  return candidates;
}

}  // namespace

std::vector<Candidate> overlapped(const Draft& draft, const Transport& transport,
                                  const std::optional<std::vector<int>>& groups) {
  std::vector<Candidate> candidates = fused_candidates(draft, transport);
  if (!candidates.empty()) return candidates;
  const std::vector<tilepost_shots_t> all_shots = transport.shots(draft.spec, draft.plan);
  for (const KernelChoice* kernel : kernels_with(draft, transport))
    for (const CommChoice& comm : open_choices(draft, *kernel, transport))
      for (const tilepost_shots_t shots : all_shots) {
        std::optional<Candidate> candidate = begin(draft, *kernel, transport, comm);
        if (!candidate) continue;
        candidate->shots = shots;
        model_both(draft, *candidate);
        if (!groups)
          take_best(draft, *candidate);
        else if (!take_groups(*groups, *candidate))
          continue;
        candidates.push_back(std::move(*candidate));
      }
  return candidates;
}

void merge_groups(Candidate& candidate) {
  take(fewest_groups(candidate.problem, INT_MAX), candidate);
}

void set_cuts(const std::vector<int32_t>& cuts, Candidate& candidate) {
  candidate.cuts = cuts;
  candidate.group_waves.assign(cuts.size(), 0);  // order_tiles counts them
  take_end(end_of_groups(candidate.problem, cuts), candidate);
}

double doubt_of(const Draft& draft, const Candidate& candidate) {
  const bool left = candidate.overlaps() && candidate.shots == TILEPOST_SHOTS_NONE &&
                    !row_of(draft.plan).moves_input() && !has_moving_tasks(draft, candidate);
  return left ? draft.profile.accuracy.doubt : 0;
}

double merged_end(const Candidate& candidate) {
  if (candidate.is_one_group()) return candidate.end;
  Candidate merged = candidate;
  merge_groups(merged);
  return merged.end;
}

std::vector<Candidate> in_sequence(const Draft& draft) {
  const bool others = !std::ranges::all_of(
      draft.kernels, [&](const KernelChoice& kernel) { return only_exchanges(draft, kernel); });
  std::vector<Candidate> candidates;
  for (const KernelChoice& kernel : draft.kernels) {
    if ((others && only_exchanges(draft, kernel)) || is_for_tasks(kernel.config)) continue;
    std::optional<Candidate> candidate = begin_sequence(draft, kernel);
    if (!candidate) continue;
    GroupProblem& problem = candidate->problem;
    candidate->group_waves = {static_cast<int>(candidate->waves)};
    candidate->cuts = cuts_of_waves(problem.map, problem.at_once, candidate->group_waves);
    if (draft.plan.arch != Arch::host) {
      model_sequence(draft, *candidate, problem.model);
      // The collective sends as many bytes as overlapped groups would.
      GroupProblem overlapping = problem;
      overlapping.map = draft.recipe(kernel, TILEPOST_TRANSPORT_NCCL);
      overlapping.unit_bytes = unit_bytes(draft.plan, overlapping.map.division);
      candidate->end = sequence_us(overlapping, problem.at_once);
      candidate->sequence_gemm = sequence_gemm_us(overlapping, problem.at_once);
    }
    candidates.push_back(std::move(*candidate));
  }
  return candidates;
}

const Candidate* best(std::span<const Candidate> candidates, const MachineProfile& profile) {
  double least = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : candidates) least = std::min(least, candidate.end);
  // Time of the GEMM, us, where products are stored in their owners' memory; otherwise 0.
  const auto computed = [](const Candidate& candidate) {
    return candidate.problem.map.division == TILEPOST_DIVISION_SHARES
               ? static_cast<double>(candidate.waves) * candidate.problem.model.sequence_wave
               : 0.0;
  };
  const Candidate* chosen = nullptr;
  for (const Candidate& candidate : candidates)
    if (candidate.end <= least * (1 + profile.accuracy.noise) &&
        (!chosen || computed(candidate) < computed(*chosen) * (1 - profile.accuracy.hidden)))
      chosen = &candidate;
  return chosen;
}

}  // namespace tilepost
