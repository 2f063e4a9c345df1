#include "generator/plan/choose/candidates.h"

#include <algorithm>
#include <climits>
#include <limits>
#include <numeric>

#include "generator/plan/choose/budget.h"
#include "generator/plan/choose/cuts.h"
#include "generator/plan/cost/predict.h"
#include "generator/plan/kernels/small_kernel.h"
#include "generator/plan/kernels/stores.h"
#include "llvm/ADT/STLExtras.h"

namespace tilepost {
namespace {

constexpr int64_t kOutputBytes = 2;  // an element of every output

// SMs that are asked for are for kernels that add up.
int task_parts(const Draft& draft, const KernelChoice& kernel, tilepost_transport_t transport) {
  return draft.spec.schedule.comm_sms ? 0 : task_parts_of(kernel.config, draft.plan, transport);
}

// Kernel and SM budget, no groups and no model yet; nothing if the GEMM gets no SM.
std::optional<Candidate> begin(const Draft& draft, const KernelChoice& kernel,
                               tilepost_transport_t transport, CommChoice comm) {
  Candidate candidate;
  candidate.kernel = &kernel;
  candidate.transport = transport;
  candidate.comm_ctas = comm.ctas;
  candidate.comm_lanes = comm.lanes;
  candidate.task_parts = task_parts(draft, kernel, transport);
  GroupProblem& problem = candidate.problem;
  problem.map = draft.recipe(kernel, transport);
  problem.unit_bytes = unit_bytes(draft.plan, division_of(draft.plan, transport));
  if (!can_address(problem.map)) return std::nullopt;
  const int split_k = kernel.config.split_k;
  candidate.gemm_ctas =
      gemm_grid(arch_info(draft.plan.arch), draft.plan.sms, comm.ctas, candidate.overlaps(),
                kernel.request.cluster * split_k, kernel.config.ctas_per_sm,
                schedule_positions(problem.map) * split_k);
  if (candidate.gemm_ctas == 0) return std::nullopt;
  problem.at_once = candidate.gemm_ctas / split_k;
  candidate.waves = schedule_waves(problem.map, problem.at_once);
  // SMs that only shorten the last wave of nobody are left idle: the others clock higher.
  if (!candidate.overlaps())
    problem.at_once = static_cast<int>(least_at_once(problem.map, candidate.waves));
  candidate.gemm_ctas = problem.at_once * split_k;
  // Shares take turns: in what is stored as in what is copied, no link and no rank is asked by all.
  if (shares_memory(transport) && problem.map.division == TILEPOST_DIVISION_SHARES)
    problem.map.stagger = problem.at_once;
  if (transport == TILEPOST_TRANSPORT_PEER && candidate.task_parts > 0)
    problem.most_bytes = most_bytes_of_tasks(draft.plan.pattern);
  problem.unhurried = draft.plan.pattern != TILEPOST_GEMM_ALL_REDUCE && candidate.task_parts == 0;
  return candidate;
}

// Bytes that one collective over everything sends, or brings in.
int64_t bytes_sent(const Plan& plan) {
  const bool gathers = plan.pattern == TILEPOST_ALL_GATHER_GEMM;
  return plan.map.m * (gathers ? plan.k * bytes_of(plan.input) : plan.map.n * kOutputBytes);
}

// ARRIVALS: bytes of the own rows of A.
double own_bytes(const GroupProblem& problem) {
  return static_cast<double>(share_rows(problem.map) * problem.unit_bytes);
}

// What a run in sequence takes, the same kernel on its own grid. While it communicates, the chip
// cools, and the GEMM clocks higher for it.
void model_sequence(const Draft& draft, const Candidate& sequence, tilepost_model_t& model) {
  const Plan& plan = draft.plan;
  const KernelChoice& kernel = *sequence.kernel;
  const MachineProfile& profile = h200_nvlink_profile();
  const GemmModel gemm = model_gemm(plan, kernel.config, kernel.request, false);
  const CollectiveModel collective = model_collective(plan.pattern, TILEPOST_TRANSPORT_NONE,
                                                      plan.ranks, {profile.default_ctas, 1}, 0);
  const double hot = gemm.wave_on(sequence.problem.at_once);
  const double computed = static_cast<double>(sequence.waves) * hot;
  const double sent =
      collective.latency + static_cast<double>(bytes_sent(plan)) * collective.per_byte;
  model.start = nine_digits(gemm.start);
  model.read_b = nine_digits(gemm.read_b);
  model.read_row = nine_digits(gemm.read_row);
  const double relief = gemm.clock_gain > 0 ? profile.relief * sent / (sent + computed) : 0;
  model.sequence_wave = nine_digits(std::max(hot * (1 - relief), gemm.wave * gemm.least_factor));
  model.sequence_latency = nine_digits(collective.latency);
  model.sequence_per_byte = nine_digits(collective.per_byte);
  model.sequence_ctas = sequence.gemm_ctas;
}

// What beside the GEMM moves groups by collectives, put as the other transports are.
TransferModel model_messages(const Plan& plan, const Candidate& candidate) {
  const KernelChoice& kernel = *candidate.kernel;
  const GemmModel gemm = model_gemm(plan, kernel.config, kernel.request, true);
  // Chunks of A wait for nobody. Elsewhere every collective starts with a wait.
  const double wait = plan.pattern == TILEPOST_ALL_GATHER_GEMM ? 0 : wait_us(plan.wait);
  return {gemm.wave_on(candidate.problem.at_once),
          model_collective(plan.pattern, candidate.transport, plan.ranks,
                           {candidate.comm_ctas, candidate.comm_lanes}, wait),
          0};
}

TransferModel model_transfers(const Plan& plan, const Candidate& candidate) {
  if (!shares_memory(candidate.transport)) return model_messages(plan, candidate);
  const KernelChoice& kernel = *candidate.kernel;
  const GemmModel gemm = model_gemm(plan, kernel.config, kernel.request, false);
  const double tile_bytes =
      static_cast<double>(kOutputBytes) * kernel.config.tile_m * kernel.config.tile_n;
  SharedProblem problem{};
  problem.comm = {candidate.comm_ctas, candidate.comm_lanes};
  problem.wave = gemm.wave_on(candidate.problem.at_once);
  problem.computed = static_cast<double>(candidate.waves) * problem.wave;
  problem.wave_bytes = candidate.problem.at_once * tile_bytes;
  problem.bytes = static_cast<double>(bytes_sent(plan));
  problem.task_parts = candidate.task_parts;
  return model_shared(plan, candidate.transport, problem);
}

void model_overlap(const Draft& draft, const Candidate& candidate, tilepost_model_t& model) {
  const TransferModel transfers = model_transfers(draft.plan, candidate);
  // The copy of the own rows comes before everything, unless helper warps copy them.
  const bool gathers = draft.plan.pattern == TILEPOST_ALL_GATHER_GEMM;
  const double own =
      gathers && candidate.task_parts == 0 ? copy_us(own_bytes(candidate.problem)) : 0;
  model.wave = nine_digits(transfers.wave);
  model.wait = nine_digits(own + transfers.announce);
  model.latency = nine_digits(transfers.group.latency);
  model.per_byte = nine_digits(transfers.group.per_byte);
  model.tail = nine_digits(transfers.group.tail);
}

// The model of an overlapped candidate, which a run with few rows compares with that in sequence.
void model_both(const Draft& draft, Candidate& candidate) {
  if (draft.plan.arch == Arch::host) return;  // not timed
  model_overlap(draft, candidate, candidate.problem.model);
  if (const auto sequence = begin(draft, *candidate.kernel, TILEPOST_TRANSPORT_NONE, {0, 1}))
    model_sequence(draft, *sequence, candidate.problem.model);
}

void take(const Groups& groups, Candidate& candidate) {
  candidate.cuts = groups.cuts;
  candidate.group_waves = groups.waves;
  candidate.end = groups.end;
}

// Takes the groups the user asked for; false if they do not fit.
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
  candidate.end = end_of_groups(problem, candidate.cuts);
  return true;
}

// What a budget that was asked for leaves open.
std::vector<CommChoice> choices_with(Arch arch, tilepost_transport_t transport, int ctas) {
  if (arch == Arch::host) return {{ctas, 1}};
  if (!lanes_take_ctas(transport)) return {{ctas, 2}, {ctas, 1}, {ctas, 3}};
  if (ctas < 16) return {{ctas, 1}};
  return {{ctas, 1}, {ctas, 2}};
}

// What the spec leaves open of the budget for what moves the groups.
std::vector<CommChoice> open_choices(const Draft& draft, const KernelChoice& kernel,
                                     tilepost_transport_t transport) {
  const ScheduleSpec& schedule = draft.spec.schedule;
  std::vector<CommChoice> choices =
      task_parts(draft, kernel, transport) > 0
          ? choices_beside_tasks(access_of(transport) == TILEPOST_ACCESS_READ)
          : comm_choices(draft.plan.arch, draft.plan.sms, transport, reduces(draft.plan.pattern));
  if (schedule.comm_sms)
    choices =
        choices_with(draft.plan.arch, transport,
                     static_cast<int>(std::min<int64_t>(schedule.comm_sms->value, INT32_MAX / 2)));
  // A tile may need rows of an earlier chunk, too.
  if (draft.plan.pattern == TILEPOST_ALL_GATHER_GEMM)
    llvm::erase_if(choices, [](const CommChoice& choice) { return choice.lanes > 1; });
  if (!schedule.lanes) return choices;
  const int lanes = static_cast<int>(schedule.lanes->value);
  if (draft.plan.arch == Arch::host) return choices;
  std::vector<CommChoice> asked;
  for (const CommChoice& choice : choices)
    if ((choice.ctas >= lanes || !lanes_take_ctas(transport)) &&
        llvm::none_of(asked, [&](const CommChoice& other) { return other.ctas == choice.ctas; }))
      asked.push_back({choice.ctas, lanes});
  return asked;
}

// Whether the kernel stores into other ranks' memory as it should: rows of A by helper warps, which
// nothing stands in for, tiles staged whole where the spec leaves such a kernel.
bool serves_peers(const Draft& draft, const KernelChoice& kernel) {
  if (draft.plan.pattern == TILEPOST_ALL_GATHER_GEMM)
    return draft.plan.arch == Arch::host || task_parts(draft, kernel, TILEPOST_TRANSPORT_PEER) > 0;
  const auto whole = [](const KernelChoice& other) { return stages_whole_tile(other.config); };
  return stores_to_peers(kernel.config) && (whole(kernel) || llvm::none_of(draft.kernels, whole));
}

}  // namespace

int64_t total_waves(const std::vector<int>& groups) {
  return std::accumulate(groups.begin(), groups.end(), int64_t{0});
}

std::vector<Candidate> overlapped(const Draft& draft, tilepost_transport_t transport,
                                  const std::optional<std::vector<int>>& groups) {
  const bool waits = division_of(draft.plan, transport) == TILEPOST_DIVISION_ARRIVALS;
  // Rows that were not timed beside collectives serve where nothing else does, and who asks.
  const bool timed =
      !draft.spec.schedule.tile &&
      llvm::any_of(draft.kernels, [](const KernelChoice& kernel) { return kernel.config.beside; });
  std::vector<Candidate> candidates;
  for (const KernelChoice& kernel : draft.kernels) {
    if (!kernel.config.beside && timed) continue;
    if (waits && is_small(kernel.config)) continue;  // loads without asking whether A has come
    if (transport == TILEPOST_TRANSPORT_PEER && !serves_peers(draft, kernel)) continue;
    for (const CommChoice& comm : open_choices(draft, kernel, transport)) {
      std::optional<Candidate> candidate = begin(draft, kernel, transport, comm);
      if (!candidate) continue;
      model_both(draft, *candidate);
      if (groups) {
        if (!take_groups(*groups, *candidate)) continue;
      } else {
        take(draft.plan.arch == Arch::host ? even_groups(candidate->problem, INT_MAX)
                                           : best_groups(candidate->problem),
             *candidate);
      }
      candidates.push_back(std::move(*candidate));
    }
  }
  return candidates;
}

void merge_groups(Candidate& candidate) {
  take(fewest_groups(candidate.problem, candidate.comm_lanes, INT_MAX), candidate);
}

std::vector<Candidate> in_sequence(const Draft& draft) {
  std::vector<Candidate> candidates;
  for (const KernelChoice& kernel : draft.kernels) {
    std::optional<Candidate> candidate = begin(draft, kernel, TILEPOST_TRANSPORT_NONE, {0, 1});
    if (!candidate) continue;
    GroupProblem& problem = candidate->problem;
    candidate->group_waves = {static_cast<int>(candidate->waves)};
    candidate->cuts = cuts_of_waves(problem.map, problem.at_once, candidate->group_waves);
    if (draft.plan.arch != Arch::host) {
      model_sequence(draft, *candidate, problem.model);
      GroupProblem overlapping = problem;
      overlapping.map = draft.recipe(kernel, TILEPOST_TRANSPORT_NCCL);
      overlapping.unit_bytes =
          unit_bytes(draft.plan, division_of(draft.plan, TILEPOST_TRANSPORT_NCCL));
      candidate->end = sequence_us(overlapping, problem.at_once);
    }
    candidates.push_back(std::move(*candidate));
  }
  return candidates;
}

const Candidate* best(const std::vector<Candidate>& candidates) {
  constexpr double kEqual = 0.005;  // differences below it are the model's noise
  double least = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : candidates) least = std::min(least, candidate.end);
  for (const Candidate& candidate : candidates)
    if (candidate.end <= least * (1 + kEqual)) return &candidate;
  return nullptr;
}

}  // namespace tilepost
