#include "runtime/bench/ranks/tune_bench.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

#include "runtime/bench/ranks/tune_rank.h"
#include "runtime/bench/record.h"
#include "runtime/cuda/op/select.h"

namespace tilepost::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUps = 5;      // rounds before the first one that counts
constexpr int kLeastRounds = 8;  // that count, also of a plan that is alone

// After so many rounds, a plan whose median is above that of the fastest by more than this part
// leaves. Medians of few rounds differ by some percent by chance.
struct Cut {
  size_t rounds;
  double part;
};
constexpr Cut kCuts[] = {{8, 0.15}, {16, 0.08}, {32, 0.04}, {64, 0.025}, {128, 0.015}};

double median_us(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void drop_slow(std::vector<Contender>& contenders, size_t rounds) {
  double part = -1;
  for (const Cut& cut : kCuts)
    if (cut.rounds == rounds) part = cut.part;
  if (part < 0) return;
  double least = 0;
  for (const Contender& contender : contenders)
    if (contender.runs && (least == 0 || median_us(contender.us) < least))
      least = median_us(contender.us);
  for (Contender& contender : contenders)
    contender.runs = contender.runs && median_us(contender.us) <= least * (1 + part);
}

size_t count_running(const std::vector<Contender>& contenders) {
  return static_cast<size_t>(std::count_if(contenders.begin(), contenders.end(),
                                           [](const Contender& each) { return each.runs; }));
}

void fail(Contender& contender, const std::string& text) {
  contender.runs = false;
  Record("failed").set("program", contender.entry->name).set("text", text);
}

void drop_faulty(TuneTeam& team) {
  for (Contender& contender : team.contenders)
    for (size_t rank = 0; rank < contender.faults.size(); ++rank)
      if (contender.runs && !contender.faults[rank].empty())
        fail(contender, "rank " + std::to_string(rank) + ": " + contender.faults[rank]);
  if (count_running(team.contenders) == 0) throw BenchError("no plan can be made on this machine");
}

void report_check(Contender& contender, const char* reference) {
  const auto sum = [](const auto& values) {
    return static_cast<long long>(std::accumulate(values.begin(), values.end(), 0LL));
  };
  Record("check")
      .set("program", contender.entry->name)
      .set("variant", "tune")
      .set("against", reference)
      .set("elements", sum(contender.elements))
      .set("wrong", sum(contender.wrong));
  contender.runs = contender.runs && sum(contender.wrong) == 0;
}

void print_sample(const Contender& contender, size_t round) {
  Record("sample")
      .set("program", contender.entry->name)
      .set("mode", "tune")
      .set("round", static_cast<int>(round))
      .begin("us")
      .set("ours", contender.us.back())
      .end();
}

class Tuning {
 public:
  Tuning(const Session& session, TuneTeam& team) : session_(session), team_(team) {}

  // One rank's part.
  void work(int rank) {
    TuneRank own(session_, team_, rank);
    const size_t all = team_.contenders.size();
    if (!step(rank, [&] { own.create(); })) return;
    for (size_t i = 0; i < all; ++i)
      if (!step(rank, [&] { own.create(i); })) return;
    if (!only_first(rank, [&] { drop_faulty(team_); })) return;
    if (!step(rank, [&] { own.create_operands(); })) return;
    for (size_t i = 0; i < all; ++i) {
      if (!team_.contenders[i].runs) continue;
      if (!step(rank, [&] { own.check(i); })) return;
      if (!only_first(rank, [&] { report_check(team_.contenders[i], own.reference()); })) return;
    }
    if (!step(rank, [&] { own.prepare(); })) return;
    measure(own, rank);
  }

 private:
  template <class Body>
  bool step(int rank, const Body& body) {
    if (rank == 0) session_.alive();
    return team_.steps.step(rank, body);
  }
  // A step in which rank 0 alone does something.
  template <class Body>
  bool only_first(int rank, const Body& body) {
    return step(rank, [&] {
      if (rank == 0) body();
    });
  }

  void measure(TuneRank& own, int rank) {
    const std::chrono::duration<double> all(session_.options.seconds);
    const auto begin = [&] {
      end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(all);
    };
    if (!only_first(rank, begin)) return;
    std::mt19937_64 random(session_.options.seed);  // gives the same order on every rank
    for (int round = -kWarmUps; !team_.done; ++round) {
      std::vector<size_t> order;
      for (size_t i = 0; i < team_.contenders.size(); ++i)
        if (team_.contenders[i].runs) order.push_back(i);
      std::shuffle(order.begin(), order.end(), random);
      for (const size_t i : order) {
        if (!step(rank, [&] { own.enqueue(i); })) return;
        if (!step(rank, [&] { own.finish(); })) return;
        const auto take = [&] {
          if (round < 0) return;
          team_.contenders[i].us.push_back(team_.clocks.slowest());
          print_sample(team_.contenders[i], static_cast<size_t>(round));
        };
        if (!only_first(rank, take)) return;
      }
      if (!only_first(rank, [&] { decide(round + 1); })) return;
    }
  }

  void decide(int rounds) {
    if (rounds > 0) drop_slow(team_.contenders, static_cast<size_t>(rounds));
    const bool decided = count_running(team_.contenders) < 2;
    team_.done = rounds >= std::min(kLeastRounds, session_.options.rounds) &&
                 (decided || rounds >= session_.options.rounds || Clock::now() >= end_);
  }

  const Session& session_;
  TuneTeam& team_;
  Clock::time_point end_;  // of the rounds
};

}  // namespace

bool tune_programs(const Registry& programs, const Session& session) {
  std::vector<Contender> contenders;
  for (int i = 0; i < programs.count; ++i) {
    Contender& contender = contenders.emplace_back();
    contender.entry = &programs.entries[i];
    check_tilepost(
        cuda::select_plan(*contender.entry->program(), session.machine.device, contender.plan),
        "select_plan");
    Record("begin").set("program", contender.entry->name);
  }
  const int ranks = contenders.front().plan->ranks;
  if (ranks > session.machine.gpus)
    throw BenchError("the operation wants " + std::to_string(ranks) + " GPUs, this machine has " +
                     std::to_string(session.machine.gpus));
  TuneTeam team(ranks, std::move(contenders));
  Tuning tuning(session, team);
  team.steps.run([&](int rank) { tuning.work(rank); });
  if (!team.steps.failure().empty()) throw BenchError(team.steps.failure());
  bool ok = false;
  for (const Contender& contender : team.contenders) {
    Record("end").set("program", contender.entry->name);
    ok = ok || !contender.us.empty();
  }
  for (const Contender& contender : team.contenders)
    for (const unsigned long long wrong : contender.wrong) ok = ok && wrong == 0;
  return ok;
}

}  // namespace tilepost::bench
