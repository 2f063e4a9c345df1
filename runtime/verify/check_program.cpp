#include "runtime/verify/check_program.h"

#include <algorithm>
#include <memory>

#include "runtime/verify/compare.h"
#include "runtime/verify/operation.h"
#include "runtime/verify/rank_team.h"
#include "runtime/verify/text.h"

namespace tilepost::verify {
namespace {

// Runs started without waiting in between: enough to catch a run that disturbs the next.
constexpr int kRunsInFlight = 4;
constexpr double kDeadlineSeconds = 20;

using Operations = std::vector<std::unique_ptr<RankOperation>>;

Problem problem_of(const tilepost_plan_t& plan, const World& world) {
  return {plan.map.m,  plan.map.n,   plan.k,        world.ranks(),   plan.input,
          plan.output, plan.pattern, plan.operands, plan.accumulate, plan.epilogue};
}

const char* name_of(tilepost_dtype_t type) {
  return type == TILEPOST_BF16 ? "bf16" : type == TILEPOST_F16 ? "f16" : "e4m3";
}

// "bf16", "e4m3 fast to f16 scale+bias", "bf16 nn".
std::string types_of(const tilepost_plan_t& plan) {
  constexpr std::pair<int, const char*> kOperations[] = {{TILEPOST_SCALE, "scale"},
                                                         {TILEPOST_SCALE_ROWS, "scale_rows"},
                                                         {TILEPOST_SCALE_COLUMNS, "scale_columns"},
                                                         {TILEPOST_BIAS, "bias"},
                                                         {TILEPOST_GELU, "gelu"},
                                                         {TILEPOST_SILU, "silu"},
                                                         {TILEPOST_RESIDUAL, "residual"}};
  std::string text = name_of(plan.input);
  if (plan.input == TILEPOST_E4M3)
    text += std::string(plan.accumulate == TILEPOST_FAST ? " fast" : " precise") + " to " +
            name_of(plan.output);
  if (plan.operands == TILEPOST_NN) text += " nn";
  const char* separator = " ";
  for (const auto& [operation, name] : kOperations) {
    if ((plan.epilogue & operation) == 0) continue;
    text += std::string(separator) + name;
    separator = "+";
  }
  return text;
}

double products(const tilepost_plan_t& plan) {
  return static_cast<double>(plan.map.m) * plan.map.n * plan.k * plan.ranks;
}

// One kind of data: runs on all ranks, one reference per run, every rank's output compared with it;
// or, where every rank keeps its own product, with a reference of its own.
class Check {
 public:
  Check(const Problem& problem, const World& world, Operations& operations, DataKind kind,
        uint64_t seed, const std::function<void(int)>& alive)
      : problem_(problem),
        alive_(alive),
        operations_(operations),
        distribution_(distribution_of(kind, problem)),
        weights_(error_weights(kind, problem)),
        seed_(seed) {
    Expected expected;
    expected.rows = rows_to_check(problem, world.max_reference_products(), seed);
    expected.sum.resize(expected.rows.size() * problem.n);
    expected.bound.resize(expected.sum.size());
    expected_.assign(is_shared() ? 1 : problem.ranks, expected);
  }

  CheckResult run(int runs) {
    RankTeam team(problem_.ranks);
    team.run([&](int rank) { rank_main(team, rank, runs); });
    const std::string name = distribution_.kind == DataKind::exact ? "exact: " : "random: ";
    if (!team.failure().empty()) return {false, name + team.failure()};
    return {true, name + success(runs)};
  }

 private:
  void rank_main(RankTeam& team, int rank, int runs) {
    RankOperation& operation = *operations_[rank];
    for (int first = 0; first < runs; first += kRunsInFlight) {
      const int count = std::min(kRunsInFlight, runs - first);
      if (!team.step(rank, [&] { operation.run(distribution_, seed_, first, count); })) return;
      for (int i = 0; i < count; ++i) {
        if (!team.step(rank, [&] { compute_reference(operation.device(), rank, first + i); }))
          return;
        if (!team.step(rank, [&] { compare_output(operation, rank, i, first + i); })) return;
        if (rank == 0) alive_(first + i + 1);
      }
    }
  }

  bool is_shared() const { return problem_.pattern != TILEPOST_GEMM; }
  Expected& expected_of(int rank) { return expected_[is_shared() ? 0 : rank]; }

  // The ranks share the rows of one reference out among themselves, or make one each.
  void compute_reference(RankDevice& device, int rank, int run) {
    Expected& expected = expected_of(rank);
    const auto total = static_cast<int64_t>(expected.rows.size());
    int64_t begin = 0, end = total;
    int first_rank = rank, end_rank = rank + 1;
    if (is_shared()) {
      begin = total * rank / problem_.ranks, end = total * (rank + 1) / problem_.ranks;
      first_rank = 0, end_rank = problem_.ranks;
    }
    if (begin == end) return;
    device.reference({problem_, distribution_, weights_, seed_, run, first_rank, end_rank,
                      &expected.rows[begin], end - begin, &expected.sum[begin * problem_.n],
                      &expected.bound[begin * problem_.n]});
  }

  void compare_output(const RankOperation& operation, int rank, int set, int run) {
    std::vector<uint16_t> out;
    const std::string overwritten = operation.buffers(set).fetch(out);
    const Comparison comparison =
        compare(problem_, operation.layout(), expected_of(rank), out.data());
    const std::string place = "run " + std::to_string(run + 1) + ": ";
    if (comparison.different > 0) throw TargetError(place + describe(comparison));
    if (!overwritten.empty()) throw TargetError(place + overwritten);
    const std::lock_guard lock(worst_mutex_);
    if (comparison.worst_error * worst_bound_ >= worst_error_ * comparison.worst_bound)
      worst_error_ = comparison.worst_error, worst_bound_ = comparison.worst_bound;
  }

  std::string success(int runs) const {
    std::string text;
    const Expected& expected = expected_.front();
    if (expected.rows.size() < static_cast<size_t>(problem_.m))
      text = format("%zu random rows of %lld: ", expected.rows.size(),
                    static_cast<long long>(problem_.m));
    text += std::to_string(expected.sum.size());
    if (distribution_.kind == DataKind::exact && problem_.linear())
      text += " elements equal";
    else
      text += format(" elements, largest error %.2g of %.2g allowed", worst_error_, worst_bound_);
    return text + format(", %d run%s", runs, runs == 1 ? "" : "s");
  }

  const Problem problem_;
  const std::function<void(int)>& alive_;
  Operations& operations_;
  const Distribution distribution_;
  const ErrorWeights weights_;
  const uint64_t seed_;
  std::vector<Expected> expected_;
  std::mutex worst_mutex_;
  double worst_error_ = 0, worst_bound_ = 0;
};

}  // namespace

std::string program_label(const Entry& entry, const tilepost_plan_t& plan) {
  const tilepost_map_t& map = plan.map;
  return format("%s%s%s  %s  %d ranks%s  %lldx%lldx%lld %s %s %d group%s", entry.name,
                *entry.varied ? " " : "", entry.varied, target_name(), plan.ranks,
                plan.pattern == TILEPOST_GEMM ? "  gemm" : "", static_cast<long long>(map.m),
                static_cast<long long>(map.n), static_cast<long long>(plan.k),
                types_of(plan).c_str(), map.layout == TILEPOST_PANEL ? "panel" : "tile",
                map.num_groups, map.num_groups == 1 ? "" : "s");
}

double deadline_of(const tilepost_plan_t& plan, const World& world, const HarnessOptions& options) {
  if (options.deadline > 0) return options.deadline;
  return kDeadlineSeconds + products(plan) / world.slow_products_per_second();
}

std::vector<CheckResult> check_program(const tilepost_program_t& program,
                                       const tilepost_plan_t& plan, World& world,
                                       const HarnessOptions& options, uint64_t seed,
                                       const std::function<void(int)>& alive) {
  const Problem problem = problem_of(plan, world);
  const double deadline = deadline_of(plan, world, options);
  const int sets = std::min(options.runs, kRunsInFlight);
  Operations operations;
  for (int rank = 0; rank < problem.ranks; ++rank)
    operations.push_back(std::make_unique<RankOperation>(world, rank));

  std::vector<CheckResult> results;
  RankTeam team(problem.ranks);
  team.run([&](int rank) {
    team.step(rank, [&] { operations[rank]->create(program, problem, deadline, sets); });
  });
  if (!team.failure().empty()) {
    results.push_back({false, team.failure()});
  } else {
    results.push_back(
        Check(problem, world, operations, DataKind::exact, seed, alive).run(options.runs));
    if (results.back().ok)
      results.push_back(
          Check(problem, world, operations, DataKind::random, mix(seed), alive).run(1));
  }
  RankTeam(problem.ranks).run([&](int rank) { operations[rank]->close(); });
  return results;
}

}  // namespace tilepost::verify
