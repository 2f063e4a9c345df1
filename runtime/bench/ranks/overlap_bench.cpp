#include "runtime/bench/ranks/overlap_bench.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "runtime/bench/experts/expert_rank.h"
#include "runtime/bench/gpu/checked.h"
#include "runtime/bench/ranks/rank_bench.h"
#include "runtime/bench/record.h"

namespace tilepost::bench {
namespace {

// How a mode runs its variants.
struct RankMode {
  const char* name;
  std::vector<RankVariant> variants;
  int more;      // the runs of a sample after its first one
  int graph;     // 0, or the number of runs in a graph, whose replay is then a sample
  int warm_ups;  // the rounds that are run before the first measured one
  // Problems with more rows are not measured in this mode.
  int64_t most_rows = std::numeric_limits<int64_t>::max();
};

constexpr int64_t kFewRows = 2048;  // inference servers replay graphs up to about this many rows

const RankMode kRankModes[] = {
    {"overlap", {kOurs, kSequence, kGemm, kCollective}, 0, 0, 20},
    {"steady", {kOurs, kSequence}, 9, 0, 3},
    {"graph", {kOurs, kSequence, kGemm, kCollective}, 0, 20, 3, kFewRows}};

template <class T>
T sum(const std::vector<T>& values) {
  return std::accumulate(values.begin(), values.end(), T{});
}

void note(const char* program, const std::string& text) {
  Record("note").set("program", program).set("text", text);
}

// Whether a check has found a wrong element.
bool is_wrong(const BenchTeam& team) {
  return sum(team.wrong) + sum(team.sampled_wrong) > 0;
}

// Prints the checks' records and notes on the runs. Returns whether nothing is wrong.
bool report_check(const Entry& entry, const tilepost_plan_t& plan, const BenchTeam& team,
                  const RankRuns& bench) {
  const char* const program = entry.name;
  const std::string out = bench.kind_of_out();
  if (const int64_t sampled = sum(team.sampled); sampled > 0)
    Record("check")
        .set("program", program)
        .set("variant", "sequence")
        .set("against", "reference")
        .set("elements", static_cast<long long>(sampled))
        .set("wrong", static_cast<long long>(sum(team.sampled_wrong)));
  Record("check")
      .set("program", program)
      .set("variant", "overlap")
      .set("against", entry.own != nullptr ? "the original and nccl" : "cublaslt and nccl")
      .set("out", out)
      .set("elements", static_cast<long long>(sum(team.elements)))
      .set("wrong", static_cast<long long>(sum(team.wrong)));
  if (const std::string route = route_in_words(plan); !route.empty()) note(program, route);
  if (const std::string rows = bench.rows_in_words(); !rows.empty()) note(program, rows);
  if (out == "own") note(program, "the output is made in the operation's own memory");
  if (out == "registered") note(program, "other ranks store into the output, which is registered");
  return !is_wrong(team);
}

// The times of one round. `us` has each variant's time on the slowest rank, and `ours` has our time
// on each rank.
struct RankRound {
  std::vector<double> us = std::vector<double>(kRankVariants);
  std::vector<double> ours;
};

// Runs one round on one rank. Returns false if a rank has failed.
bool run_round(RankRuns& bench, BenchTeam& team, const RankMode& mode,
               const std::vector<RankVariant>& order, int rank, RankRound& round) {
  for (const RankVariant variant : order) {
    const bool alone = mode.more == 0;
    if (mode.graph > 0) {
      if (!team.steps.step(rank, [&] { bench.enqueue_graph(variant); })) return false;
    } else if (!team.steps.step(rank, [&] { bench.enqueue(variant, alone); })) {
      return false;
    }
    const auto finish = [&] {
      if (mode.graph > 0) return bench.finish_graph();
      bench.finish(variant, mode.more);
    };
    if (!team.steps.step(rank, finish)) return false;
    round.us[variant] = team.clocks.slowest();
    if (variant == kOurs) round.ours = team.clocks.us;
  }
  return true;
}

void print_round(const char* program, const RankMode& mode, int index, const RankRound& round) {
  Record record("sample");
  record.set("program", program).set("mode", mode.name).set("round", index).begin("us");
  for (const RankVariant variant : mode.variants)
    record.set(kRankVariantNames[variant], round.us[variant]);
  record.end().begin("ours_of_rank");
  for (size_t rank = 0; rank < round.ours.size(); ++rank)
    record.set(std::to_string(rank).c_str(), round.ours[rank]);
  record.end();
}

void measure(RankRuns& bench, BenchTeam& team, const char* program, const RankMode& mode,
             const Session& session, int rank) {
  std::mt19937_64 random(session.options.seed);  // gives the same order on every rank
  for (const RankVariant variant : mode.variants)
    if (mode.graph > 0 && !team.steps.step(rank, [&] { bench.make_graph(variant, mode.graph); }))
      return;
  for (int round = -mode.warm_ups; round < session.options.rounds; ++round) {
    std::vector<RankVariant> order = mode.variants;
    std::shuffle(order.begin(), order.end(), random);
    RankRound times;
    if (!run_round(bench, team, mode, order, rank, times)) return;
    if (rank != 0) continue;
    session.alive();
    if (round >= 0) print_round(program, mode, round, times);
  }
}

std::unique_ptr<RankRuns> make_rank(const Entry& entry, const tilepost_plan_t& plan,
                                    const Session& session, BenchTeam& team, int rank) {
  if (row_of(plan).has_experts())
    return std::make_unique<ExpertRank>(entry, plan, session, team, rank);
  return std::make_unique<RankBench>(entry, plan, session, team, rank);
}

void work(const Entry& entry, const tilepost_plan_t& plan, const Session& session, BenchTeam& team,
          int rank) {
  const std::unique_ptr<RankRuns> made = make_rank(entry, plan, session, team, rank);
  RankRuns& bench = *made;
  const auto step = [&](auto body) { return team.steps.step(rank, body); };
  if (!step([&] { bench.create(); }) || !step([&] { bench.choose(); })) return;
  if (!step([&] { bench.take_choice(), bench.check(); })) return;
  if (rank == 0 && !report_check(entry, plan, team, bench)) team.steps.fail("wrong");
  if (!step([] {})) return;
  for (const RankMode& mode : kRankModes)
    if (rows_of_runs(plan) <= mode.most_rows && !(mode.graph > 0 && is_routed(plan)))
      measure(bench, team, entry.name, mode, session, rank);
}

}  // namespace

std::string overlap_obstacle(const tilepost_plan_t& plan, const Machine& machine) {
  if (plan.ranks > machine.gpus)
    return "the operation wants " + std::to_string(plan.ranks) + " GPUs, this machine has " +
           std::to_string(machine.gpus) +
           (row_of(plan).has_experts() ? "" : ": only its GEMM is measured");
  if (plan.epilogue != 0 && !row_of(plan).has_experts())
    return "only a product without epilogue is measured from end to end";
  return "";
}

bool bench_overlap(const Entry& entry, const tilepost_plan_t& plan, const Session& session) {
  BenchTeam team(plan.ranks);
  team.steps.run([&](int rank) { work(entry, plan, session, team, rank); });
  const bool wrong = is_wrong(team);
  if (!team.steps.failure().empty() && !wrong) throw BenchError(team.steps.failure());
  return !wrong;
}

}  // namespace tilepost::bench
