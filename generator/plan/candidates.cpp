#include "generator/plan/candidates.h"

#include <algorithm>
#include <climits>
#include <limits>
#include <numeric>

#include "generator/plan/budget.h"
#include "generator/plan/cuts.h"
#include "generator/plan/predict.h"
#include "generator/plan/small_kernel.h"
#include "llvm/ADT/STLExtras.h"

namespace tilepost {
namespace {

constexpr int64_t kOutputBytes = 2;  // an element of every output

// Kernel and SM budget, no groups and no model yet; nothing if the GEMM gets no SM.
std::optional<Candidate> begin(const Draft& draft, const KernelChoice& kernel, Transport transport,
                               CommChoice comm) {
  Candidate candidate;
  candidate.kernel = &kernel;
  candidate.transport = transport;
  candidate.comm_ctas = comm.ctas;
  candidate.comm_lanes = comm.lanes;
  GroupProblem& problem = candidate.problem;
  problem.map = draft.recipe(kernel, candidate.overlaps());
  problem.unit_bytes = unit_bytes(draft.plan, division_of(draft.plan, candidate.overlaps()));
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
  return candidate;
}

// Bytes that one collective over everything sends, or brings in.
int64_t bytes_sent(const Plan& plan) {
  const bool gathers = plan.pattern == Pattern::all_gather_gemm;
  return plan.m * (gathers ? plan.k * bytes_of(plan.input) : plan.n * kOutputBytes);
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
  const CollectiveModel collective =
      model_collective(plan.pattern, plan.ranks, profile.default_ctas, 1, false, 0);
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

void model_overlap(const Draft& draft, const Candidate& candidate, tilepost_model_t& model) {
  const Plan& plan = draft.plan;
  const KernelChoice& kernel = *candidate.kernel;
  const GemmModel gemm = model_gemm(plan, kernel.config, kernel.request, true);
  // Chunks of A wait for nobody, but for the copy of the own rows, which comes before everything.
  // Elsewhere every collective starts with a wait.
  const bool gathers = plan.pattern == Pattern::all_gather_gemm;
  const CollectiveModel collective =
      model_collective(plan.pattern, plan.ranks, candidate.comm_ctas, candidate.comm_lanes, true,
                       gathers ? 0 : wait_us(plan.wait));
  model.wave = nine_digits(gemm.wave_on(candidate.problem.at_once));
  model.wait = gathers ? nine_digits(copy_us(own_bytes(candidate.problem))) : 0;
  model.latency = nine_digits(collective.latency);
  model.per_byte = nine_digits(collective.per_byte);
  model.tail = nine_digits(collective.tail);
}

// The model of an overlapped candidate, which a run with few rows compares with that in sequence.
void model_both(const Draft& draft, Candidate& candidate) {
  if (draft.plan.arch == Arch::host) return;  // not timed
  model_overlap(draft, candidate, candidate.problem.model);
  if (const auto sequence = begin(draft, *candidate.kernel, Transport::none, {0, 1}))
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

// What the spec leaves open of the collectives' budget.
std::vector<CommChoice> open_choices(const Draft& draft) {
  const ScheduleSpec& schedule = draft.spec.schedule;
  std::vector<CommChoice> choices = comm_choices(draft.plan.arch, draft.plan.sms);
  if (schedule.comm_sms) {
    const int ctas = static_cast<int>(std::min<int64_t>(schedule.comm_sms->value, INT32_MAX / 2));
    choices = {{ctas, 1}};
    if (ctas >= 16 && draft.plan.arch != Arch::host) choices.push_back({ctas, 2});
  }
  // A tile may need rows of an earlier chunk, too.
  if (draft.plan.pattern == Pattern::all_gather_gemm)
    llvm::erase_if(choices, [](const CommChoice& choice) { return choice.lanes > 1; });
  if (!schedule.lanes) return choices;
  const int lanes = static_cast<int>(schedule.lanes->value);
  if (draft.plan.arch == Arch::host) return choices;
  std::vector<CommChoice> asked;
  for (const CommChoice& choice : choices)
    if (choice.ctas >= lanes &&
        llvm::none_of(asked, [&](const CommChoice& other) { return other.ctas == choice.ctas; }))
      asked.push_back({choice.ctas, lanes});
  return asked;
}

}  // namespace

int64_t total_waves(const std::vector<int>& groups) {
  return std::accumulate(groups.begin(), groups.end(), int64_t{0});
}

std::vector<Candidate> overlapped(const Draft& draft,
                                  const std::optional<std::vector<int>>& groups) {
  const std::vector<CommChoice> choices = open_choices(draft);
  const bool waits = division_of(draft.plan, true) == Division::arrivals;
  // Rows that were not timed beside collectives serve where nothing else does, and who asks.
  const bool timed =
      !draft.spec.schedule.tile &&
      llvm::any_of(draft.kernels, [](const KernelChoice& kernel) { return kernel.config.beside; });
  std::vector<Candidate> candidates;
  for (const KernelChoice& kernel : draft.kernels) {
    if (!kernel.config.beside && timed) continue;
    if (waits && is_small(kernel.config)) continue;  // loads without asking whether A has come
    for (const CommChoice& comm : choices) {
      std::optional<Candidate> candidate = begin(draft, kernel, Transport::nccl, comm);
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
    std::optional<Candidate> candidate = begin(draft, kernel, Transport::none, {0, 1});
    if (!candidate) continue;
    GroupProblem& problem = candidate->problem;
    candidate->group_waves = {static_cast<int>(candidate->waves)};
    candidate->cuts = cuts_of_waves(problem.map, problem.at_once, candidate->group_waves);
    if (draft.plan.arch != Arch::host) {
      model_sequence(draft, *candidate, problem.model);
      GroupProblem overlapping = problem;
      overlapping.map = draft.recipe(kernel, true);
      overlapping.unit_bytes = unit_bytes(draft.plan, division_of(draft.plan, true));
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
