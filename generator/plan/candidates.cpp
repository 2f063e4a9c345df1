#include "generator/plan/candidates.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "generator/plan/budget.h"
#include "generator/plan/predict.h"
#include "llvm/ADT/STLExtras.h"

namespace tilepost {
namespace {

constexpr int64_t kElementBytes = 2;

// Kernel and SM budget, no groups yet; nothing if the GEMM gets no SM.
std::optional<Candidate> begin(const Draft& draft, const KernelChoice& kernel, Transport transport,
                               CommChoice comm) {
  const TileCover cover = draft.cover(kernel);
  Candidate candidate;
  candidate.kernel = &kernel;
  candidate.transport = transport;
  candidate.comm_ctas = comm.ctas;
  candidate.comm_lanes = comm.lanes;
  const int split_k = kernel.config.split_k;
  candidate.gemm_ctas = gemm_grid(arch_info(draft.plan.arch), draft.plan.sms, comm.ctas,
                                  transport != Transport::none, kernel.request.cluster * split_k,
                                  kernel.config.ctas_per_sm, cover.positions() * split_k);
  if (candidate.gemm_ctas == 0) return std::nullopt;
  candidate.at_once = candidate.gemm_ctas / split_k;
  candidate.waves = cover.waves(candidate.at_once);
  // SMs that only shorten the last wave of nobody are left idle: the others clock higher.
  if (transport == Transport::none)
    candidate.at_once = static_cast<int>(cover.least_ctas(candidate.waves));
  candidate.gemm_ctas = candidate.at_once * split_k;
  return candidate;
}

// The host target is not timed: one wave, then up to three groups of equal length, so that small
// problems have groups too.
std::vector<int> host_groups(size_t points) {
  if (points <= 1) return {static_cast<int>(points) - 1};
  std::vector<int> ends = {0};
  const int rest = static_cast<int>(points) - 1;
  const int parts = std::min(rest, 3);
  for (int part = 1; part <= parts; ++part) ends.push_back(rest * part / parts);
  return ends;
}

// An overlapped candidate with its cut points and what the programme needs to know of them.
struct CutProblem {
  std::vector<CutPoint> points;
  std::vector<double> ready;
  CollectiveModel collective;

  CutProblem(const Draft& draft, const GemmModel& gemm, const CollectiveModel& model,
             const Candidate& candidate)
      : points(cut_points(draft.cover(*candidate.kernel), candidate.at_once)), collective(model) {
    for (const CutPoint& point : points)
      ready.push_back(gemm.ready(point.positions, candidate.at_once) + wait_us(draft.plan.wait));
  }
  double cost(int before, int end) const {
    const int64_t first = before < 0 ? 0 : points[before].elements;
    return collective.time((points[end].elements - first) * kElementBytes);
  }
};

void take_choice(const CutProblem& problem, const CutChoice& choice, Candidate& candidate) {
  candidate.cuts.clear();
  candidate.group_waves.clear();
  int wave = 0;
  for (const int end : choice.ends) {
    candidate.cuts.push_back(problem.points[end].cut);
    candidate.group_waves.push_back(problem.points[end].wave - wave);
    wave = problem.points[end].wave;
  }
  candidate.end = choice.end;
}

// Chooses the groups of an overlapped candidate.
void choose_groups(const Draft& draft, const GemmModel& gemm, const CollectiveModel& collective,
                   Candidate& candidate) {
  const CutProblem problem(draft, gemm, collective, candidate);
  if (draft.plan.arch == Arch::host)
    return take_choice(problem, {host_groups(problem.points.size()), 0}, candidate);
  const auto cost = [&](int before, int end) { return problem.cost(before, end); };
  take_choice(problem, best_cuts(problem.ready, cost), candidate);
  candidate.end += collective.tail;
}

// Where a position of the schedule lies in the send buffer, for groups the user cut.
int64_t elements_before(const TileCover& cover, int32_t cut) {
  if (cover.layout == OutputLayout::panel)
    return std::min(int64_t{cut} * cover.tile_m, cover.m) * cover.n;
  return int64_t{cut} * cover.tile_m * cover.tile_n;
}

int64_t positions_before(const TileCover& cover, int32_t cut) {
  if (cover.layout == OutputLayout::tile) return cut;
  return std::min<int64_t>((int64_t{cut} + cover.cluster - 1) / cover.cluster, cover.clusters_m()) *
         cover.cluster * cover.tiles_n();
}

// Takes the groups the user asked for, in waves.
void take_groups(const Draft& draft, const std::vector<int>& waves, const GemmModel& gemm,
                 const CollectiveModel& collective, Candidate& candidate) {
  const TileCover cover = draft.cover(*candidate.kernel);
  candidate.group_waves = waves;
  candidate.cuts = cuts_of_waves(cover, candidate.at_once, waves);
  int64_t before = 0;
  for (const int32_t cut : candidate.cuts) {
    const double ready = gemm.ready(positions_before(cover, cut), candidate.at_once);
    const int64_t elements = elements_before(cover, cut);
    candidate.end = std::max(candidate.end, ready + wait_us(draft.plan.wait)) +
                    collective.time((elements - before) * kElementBytes);
    before = elements;
  }
  candidate.end += collective.tail;
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
  const Plan& plan = draft.plan;
  const std::vector<CommChoice> choices = open_choices(draft);
  // Rows that were not timed beside collectives serve where nothing else does, and who asks.
  const bool timed =
      !draft.spec.schedule.tile &&
      llvm::any_of(draft.kernels, [](const KernelChoice& kernel) { return kernel.config.beside; });
  std::vector<Candidate> candidates;
  for (const KernelChoice& kernel : draft.kernels) {
    if (!kernel.config.beside && timed) continue;
    const GemmModel gemm = model_gemm(plan, kernel.config, kernel.request, true);
    for (const CommChoice& comm : choices) {
      std::optional<Candidate> candidate = begin(draft, kernel, Transport::nccl, comm);
      if (!candidate) continue;
      const CollectiveModel collective =
          model_collective(plan.pattern, plan.ranks, comm.ctas, comm.lanes, true);
      if (!groups) {
        choose_groups(draft, gemm, collective, *candidate);
      } else {
        const int64_t most = draft.cover(kernel).max_groups(candidate->at_once);
        if (total_waves(*groups) != candidate->waves || static_cast<int64_t>(groups->size()) > most)
          continue;
        take_groups(draft, *groups, gemm, collective, *candidate);
      }
      candidates.push_back(std::move(*candidate));
    }
  }
  return candidates;
}

void merge_groups(const Draft& draft, double slack, Candidate& candidate) {
  const Plan& plan = draft.plan;
  const KernelChoice& kernel = *candidate.kernel;
  const CollectiveModel collective =
      model_collective(plan.pattern, plan.ranks, candidate.comm_ctas, candidate.comm_lanes, true);
  const CutProblem problem(draft, model_gemm(plan, kernel.config, kernel.request, true), collective,
                           candidate);
  const auto cost = [&](int before, int end) { return problem.cost(before, end); };
  const double deadline = candidate.end * (1 + slack) - collective.tail;
  take_choice(problem, fewest_cuts(problem.ready, cost, deadline), candidate);
  candidate.end += collective.tail;
}

std::vector<Candidate> in_sequence(const Draft& draft) {
  const Plan& plan = draft.plan;
  const CollectiveModel collective =
      model_collective(plan.pattern, plan.ranks, h200_nvlink_profile().default_ctas, 1, false);
  std::vector<Candidate> candidates;
  for (const KernelChoice& kernel : draft.kernels) {
    std::optional<Candidate> candidate = begin(draft, kernel, Transport::none, {0, 1});
    if (!candidate) continue;
    const TileCover cover = draft.cover(kernel);
    const GemmModel gemm = model_gemm(plan, kernel.config, kernel.request, false);
    candidate->group_waves = {static_cast<int>(candidate->waves)};
    candidate->cuts = cuts_of_waves(cover, candidate->at_once, candidate->group_waves);
    candidate->end = gemm.ready(cover.positions(), candidate->at_once) +
                     collective.time(plan.m * plan.n * kElementBytes);
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
