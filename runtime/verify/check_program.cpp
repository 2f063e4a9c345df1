#include "runtime/verify/check_program.h"

#include <algorithm>
#include <memory>

#include "runtime/harness/text.h"
#include "runtime/map/enumerators.h"
#include "runtime/map/patterns.h"
#include "runtime/verify/check.h"

namespace tilepost::verify {
namespace {

constexpr double kDeadlineSeconds = 20;

Problem problem_of(const tilepost_plan_t& plan, const World& world) {
  Problem problem{rows_of_runs(plan), plan.map.n,   plan.k,        world.ranks(),   plan.input,
                  plan.output,        plan.pattern, plan.operands, plan.accumulate, plan.epilogue};
  problem.scales = plan.scales;
  problem.scales_a = plan.scales_a;
  problem.quantised = plan.quantised != 0;
  problem.scales_out = plan.scales_out;
  problem.layout = plan.map.layout;
  problem.routing = plan.routing;
  problem.consumer = plan.consumer;
  problem.any_m = plan.any_m != 0;
  problem.tile_m = plan.map.tile_m;
  problem.tile_n = plan.map.tile_n;
  problem.most_received = row_of(plan).has_tokens() ? plan.most_rows : plan.map.m;
  problem.top = plan.top;
  problem.experts = plan.experts;
  problem.gate = plan.gate;
  return problem;
}

// A text such as "gemm_all_to_all rows". It is empty for gemm_all_reduce.
std::string pattern_of(const tilepost_plan_t& plan) {
  if (plan.pattern == TILEPOST_GEMM_ALL_REDUCE) return "";
  std::string text = std::string("  ") + name_of(plan.pattern);
  if (row_of(plan).routes()) text += std::string(" ") + name_of(plan.routing);
  return text;
}

std::string consumer_of(const tilepost_plan_t& plan) {
  if (plan.consumer == TILEPOST_CONSUMER_NONE) return "";
  return std::string(" ") + name_of(plan.consumer);
}

// The types of A and the output, then the layout of B and the epilogue if they are not the usual
// ones, such as "f16" or "f16 nn scale+bias".
std::string types_of(const tilepost_plan_t& plan) {
  std::string text = name_of(plan.input);
  if (row_of(plan.input).sums_short())
    text += std::string(" ") + name_of(plan.accumulate) + " to " + name_of(plan.output);
  if (plan.operands == TILEPOST_NN) text += " nn";
  if (plan.scales != TILEPOST_SCALES_NONE)
    text += std::string(" ") + name_of(plan.scales) + " in " + name_of(plan.scales_a);
  if (plan.quantised != 0) text += std::string(" quantised, scales in ") + name_of(plan.scales_out);
  const char* separator = " ";
  for (const auto& operation : enumerators::kEpilogueOps) {
    if ((plan.epilogue & operation.value) == 0) continue;
    text += std::string(separator) + operation.name;
    separator = "+";
  }
  if (plan.experts > 0) text += harness::format(" %d experts", plan.experts);
  return text;
}

double products(const tilepost_plan_t& plan) {
  return static_cast<double>(plan.map.m) * plan.map.n * plan.k * plan.ranks;
}

// The bounds of the program's other plans that are for fewer rows than `plan`. These plans serve
// some of the operation's runs.
std::vector<int64_t> bounds_of(const tilepost_program_t& program, const tilepost_plan_t& plan) {
  std::vector<int64_t> bounds;
  for (int i = 0; i < program.num_plans; ++i) {
    const tilepost_plan_t& other = program.plans[i];
    if (other.kernel.arch == plan.kernel.arch && rows_of_runs(other) < rows_of_runs(plan))
      bounds.push_back(rows_of_runs(other));
  }
  return bounds;
}

// The data of some runs, and the list of these runs.
struct DataRuns {
  DataKind kind;
  RunList list;
  uint64_t seed;
};

// Returns one result for each of `all`, up to the first that fails.
std::vector<CheckResult> check_data(const tilepost_program_t& program, const Problem& problem,
                                    const tilepost_plan_t& plan, World& world, double deadline,
                                    const std::vector<DataRuns>& all,
                                    const std::function<void(int)>& alive) {
  Operations operations;
  for (int rank = 0; rank < problem.ranks; ++rank)
    operations.push_back(std::make_unique<RankOperation>(world, rank));
  const RunList& first = all.front().list;
  const int sets = std::min(first.count, first.at_once);
  std::vector<CheckResult> results;
  harness::RankTeam team(problem.ranks);
  team.run([&](int rank) {
    team.step(rank, [&] { operations[rank]->create(program, problem, deadline, sets); });
  });
  if (!team.failure().empty()) results.push_back({false, team.failure()});
  const CheckSetup setup{problem, plan, world, operations, alive};
  for (const DataRuns& runs : all)
    if (results.empty() || results.back().ok)
      results.push_back(Check(setup, runs.kind, runs.seed).run(runs.list));
  harness::RankTeam(problem.ranks).run([&](int rank) { operations[rank]->close(); });
  return results;
}

// The text for a kernel of the user's own that is woven correctly, but does not compute what the
// spec asks for.
constexpr char kOtherProduct[] =
    " as you launch it gives what the pattern gives, so it computes something else than the spec's "
    "product: see gemm.layout and kernel.arguments, or what it does to its sums";

}  // namespace

std::string program_label(const Entry& entry, const tilepost_plan_t& plan) {
  const tilepost_map_t& map = plan.map;
  return harness::format(
      "%s%s%s  %s  %d rank%s%s  %s%lldx%lldx%lld %s %s%s %d group%s", entry.name,
      *entry.varied ? " " : "", entry.varied, target_name(), plan.ranks, plan.ranks == 1 ? "" : "s",
      pattern_of(plan).c_str(), plan.any_m != 0 ? "any m to " : "",
      static_cast<long long>(rows_of_runs(plan)), static_cast<long long>(map.n),
      static_cast<long long>(plan.k), types_of(plan).c_str(), name_of(map.layout),
      consumer_of(plan).c_str(), map.num_groups, map.num_groups == 1 ? "" : "s");
}

double deadline_of(const tilepost_plan_t& plan, const World& world, const HarnessOptions& options) {
  if (options.deadline > 0) return options.deadline;
  return kDeadlineSeconds + products(plan) / world.slow_products_per_second();
}

std::vector<CheckResult> check_program(const tilepost_program_t& program,
                                       const tilepost_plan_t& plan, World& world,
                                       const HarnessOptions& options, uint64_t seed,
                                       const harness::PlainLaunch* own,
                                       const std::function<void(int)>& alive) {
  Problem problem = problem_of(plan, world);
  if (own != nullptr && own->is_opaque()) problem.own = own;
  const double deadline = deadline_of(plan, world, options);
  const std::vector<int64_t> bounds = bounds_of(program, plan);
  const RunList exact = list_runs(problem, bounds, options.m, options.runs);
  RunList random = list_runs(problem, bounds, options.m, 1);
  if (problem.any_m || problem.routed()) random.count = std::min(random.count, random.at_once);
  std::vector<DataRuns> all = {
      {problem.own != nullptr ? DataKind::random : DataKind::exact, exact, seed}};
  if (own == nullptr) all.push_back({DataKind::random, random, mix(seed)});
  std::vector<CheckResult> results =
      check_data(program, problem, plan, world, deadline, all, alive);
  const bool to_itself = own != nullptr && !own->is_opaque() && !row_of(plan).moves_input();
  if (!results.back().ok && to_itself) {
    problem.own = own;
    all = {{DataKind::random, list_runs(problem, bounds, options.m, 1), mix(seed)}};
    if (check_data(program, problem, plan, world, deadline, all, alive).back().ok)
      results.back().text += std::string("; ") + own->name + kOtherProduct;
  }
  return results;
}

}  // namespace tilepost::verify
