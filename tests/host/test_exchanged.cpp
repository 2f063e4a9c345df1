// Ranks whose kernels exchange tiles or rows of A by themselves: every way against the reference,
// operations that share memory, and ranks that come late. Errors name the rank that has the fault.
#include <deque>

#include "tests/catch.h"
#include "tests/host/hand_exchanged.h"
#include "tests/host/pattern.h"

namespace {

using hand_exchanged::Fault;

struct Way {
  tilepost_pattern_t pattern;
  tilepost_shots_t shots;
};
constexpr Way kWays[] = {{TILEPOST_GEMM_ALL_REDUCE, TILEPOST_ONE_SHOT},
                         {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_ONE_SHOT_LINES},
                         {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TWO_SHOT},
                         {TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_ONE_SHOT},
                         {TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_ONE_SHOT_LINES},
                         {TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_ONE_SHOT},
                         {TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_ONE_SHOT_LINES},
                         {TILEPOST_ALL_GATHER_GEMM, TILEPOST_ONE_SHOT}};
constexpr int kNumWays = std::size(kWays);

Problem make(const Way& way, int ranks, int64_t m) {
  Problem problem;
  problem.access = TILEPOST_ACCESS_TILES;
  problem.pattern = way.pattern;
  problem.shots = way.shots;
  problem.pushes = way.shots == TILEPOST_TWO_SHOT || way.pattern == TILEPOST_ALL_GATHER_GEMM;
  problem.ranks = ranks;
  problem.m = m;
  problem.n = 20;
  problem.k = 5;
  return problem;
}

std::string in_words(const Problem& problem) {
  return "pattern " + std::to_string(problem.pattern) + " shots " + std::to_string(problem.shots) +
         " ranks " + std::to_string(problem.ranks) + " m " + std::to_string(problem.m);
}

std::string synchronize(const Ops& ops, int ranks) {
  for (int rank = 0; rank < ranks; ++rank)
    if (tilepost_op_synchronize(ops[rank]) != TILEPOST_OK) return tilepost_last_error();
  return "";
}

// Compares the first rank's outputs of both problems. One seed gives both the same data.
std::string differs_from(const Problem& one, const Problem& other, uint64_t seed) {
  std::vector<std::vector<uint16_t>> outs;
  for (const Problem& problem : {one, other}) {
    std::mt19937_64 random(seed);
    PatternRun run(problem, problem.m, Spread::random, false, random);
    const Program program(problem);
    const Comms comms(problem.ranks);
    const Ops ops(comms, program.get(), problem.ranks, 60, 1 + static_cast<int>(seed % 3));
    std::string wrong = run.start(ops);
    if (wrong.empty()) wrong = synchronize(ops, problem.ranks);
    if (wrong.empty()) wrong = run.compare();
    if (!wrong.empty()) return wrong;
    outs.emplace_back();
    for (int rank = 0; rank < problem.ranks; ++rank)
      outs.back().insert(outs.back().end(), run.out(rank), run.out(rank) + run.out_bytes(rank) / 2);
  }
  return outs[0] == outs[1] ? "" : "the bits differ from those of the run in sequence";
}

// Makes runs with a fault of rank 0. Returns the error of a rank or the first wrong element.
std::string run_with(Fault fault, const Problem& problem, int count = 3) {
  const Program program(problem);
  const Comms comms(problem.ranks);
  const Ops ops(comms, program.get(), problem.ranks, 0.4, 1);
  std::mt19937_64 random(4);
  std::deque<PatternRun> runs;
  for (int i = 0; i < count; ++i)
    runs.emplace_back(problem, problem.m, Spread::random, false, random);
  hand_exchanged::fault = fault;
  std::string wrong;
  for (PatternRun& run : runs)
    if (wrong.empty()) wrong = run.start(ops);
  for (int rank = 0; rank < problem.ranks; ++rank)
    if (tilepost_op_synchronize(ops[rank]) != TILEPOST_OK && wrong.empty())
      wrong = tilepost_last_error();
  hand_exchanged::fault = Fault::none;
  for (const PatternRun& run : runs)
    if (wrong.empty()) wrong = run.compare();
  return wrong;
}

// Makes `count` runs of m rows in a row. Returns the first error or wrong element, or "".
std::string run_all(const Problem& problem, const Ops& ops, uint32_t count, int64_t m) {
  std::mt19937_64 random(count);
  std::deque<PatternRun> runs;
  std::string wrong;
  for (uint32_t i = 0; i < count && wrong.empty(); ++i) {
    runs.emplace_back(problem, m, Spread::random, false, random);
    wrong = runs.back().start(ops);
  }
  if (wrong.empty()) wrong = synchronize(ops, problem.ranks);
  for (const PatternRun& run : runs)
    if (wrong.empty()) wrong = run.compare();
  return wrong;
}

// Lets ranks go on as if they had made `run` runs that used no part.
void go_on_from(int ranks, uint32_t run) {
  for (int rank = 0; rank < ranks; ++rank) {
    const tilepost_exchange_t& last = hand_exchanged::last[rank];
    last.run[tilepost::kRunWord] = run;
    for (int source = 0; source < ranks; ++source) {
      *tilepost::exchange_line(last, last.begun, rank, source) = run;
      *tilepost::exchange_line(last, last.ended, rank, source) = run - 1;
    }
  }
}

// The age in runs of the oldest number that waits compare, over all flags and over `lines` lines in
// each slot.
uint32_t oldest_number(int rank, uint32_t lines) {
  const tilepost_exchange_t& last = hand_exchanged::last[rank];
  const uint32_t run = last.run[tilepost::kRunWord];
  uint32_t oldest = 0;
  const auto see = [&](int64_t at) {
    oldest = std::max(oldest, run - *reinterpret_cast<const uint32_t*>(last.memory[rank] + at));
  };
  for (int flag = 0; flag < 4 * last.most_parts; ++flag)
    for (int source = 0; source < last.ranks; ++source)
      see(last.arrived + (int64_t{flag} * TILEPOST_MOST_EXCHANGING + source) * 4);
  for (uint32_t line = 0; line < 2 * static_cast<uint32_t>(last.ranks) * lines; ++line)
    see(last.slots + line * tilepost::woven::kLineBytes + 12);
  return oldest;
}

}  // namespace

// Numbers of runs count modulo 2^32. Parts that were used only in runs 1 to 3 or never are used
// again when the numbers come to those of runs 1 to 3, and to 0, which fresh memory holds.
TEST_CASE("kernels exchange few rows when the numbers of runs come to 2^31 and to 2^32") {
  constexpr int kRanks = 2;
  const Way way = GENERATE(from_range(std::begin(kWays), std::end(kWays)));
  const int64_t before = GENERATE(1, 17);
  Problem problem = make(way, kRanks, 17);
  problem.any_m = true;
  INFO(in_words(problem) << " before " << before);
  const Program program(problem);
  const Comms comms(kRanks);
  const Ops ops(comms, program.get(), kRanks, 60, 2);
  REQUIRE(run_all(problem, ops, 3, before) == "");
  const tilepost_exchange_t& last = hand_exchanged::last[0];
  const auto flags = static_cast<uint32_t>(2 * last.most_parts);
  const auto lines = way.shots == TILEPOST_ONE_SHOT_LINES
                         ? static_cast<uint32_t>(last.slot_bytes / tilepost::woven::kLineBytes)
                         : 0;
  // After so many runs every number has been renewed.
  const uint32_t renewing = 2 * std::max(flags, lines);
  go_on_from(kRanks, 0u - 2 * renewing);
  REQUIRE(run_all(problem, ops, 2 * renewing - 1, 1) == "");
  REQUIRE(last.run[tilepost::kRunWord] == ~0u);
  for (int rank = 0; rank < kRanks; ++rank) CHECK(oldest_number(rank, lines) <= renewing + 2);
  REQUIRE(run_all(problem, ops, 8, 17) == "");
  go_on_from(kRanks, (1u << 31) - 5);
  REQUIRE(run_all(problem, ops, 10, 17) == "");
}

TEST_CASE("kernels exchange few rows in every way, with the bits of a run in sequence") {
  const int ranks = GENERATE(2, 3, 4);
  uint64_t seed = static_cast<uint64_t>(ranks);
  for (const Way& way : kWays)
    for (const int64_t m : {1, 3, 16, 17, 64, 65, 300, 1023, 2048}) {
      Problem problem = make(way, ranks, m);
      problem.type = ++seed % 2 != 0 ? TILEPOST_BF16 : TILEPOST_F16;
      problem.k = m > 300 ? 3 : seed % 3 == 0 ? 264 : 5;
      problem.n = m > 300 ? 10 : 20;
      problem.cluster = 1 + static_cast<int>(seed % 2);  // schedules have padding
      Problem sequence = problem;
      sequence.access = TILEPOST_ACCESS_MESSAGES;
      sequence.transport = TILEPOST_TRANSPORT_NONE;
      sequence.shots = TILEPOST_SHOTS_NONE;
      sequence.pushes = false;
      INFO(in_words(problem));
      REQUIRE(differs_from(problem, sequence, seed) == "");
    }
}

// Each rank begins its runs at any time and has another number of workers.
TEST_CASE("operations that share memory alternate, on ranks that come at any time") {
  const int ranks = GENERATE(2, 3, 4);
  std::mt19937_64 random(static_cast<uint64_t>(ranks));
  const Comms comms(ranks);
  std::deque<Problem> problems;
  std::deque<Program> programs;
  std::deque<Ops> operations;
  const auto add = [&](const Problem& problem) {
    problems.push_back(problem);
    operations.emplace_back(comms, programs.emplace_back(problem).get(), ranks, 60,
                            1 + static_cast<int>(random() % 3), true);
  };
  for (const Way& way : kWays) {
    Problem problem = make(way, ranks, 100);
    problem.any_m = true;
    add(problem);
  }
  Problem ordinary;  // its ranks share memory in another way
  ordinary.access = TILEPOST_ACCESS_WRITE;
  ordinary.ranks = ranks;
  add(ordinary);
  for (int round = 0; round < 12; ++round) {
    std::deque<PatternRun> runs;
    std::vector<size_t> used;
    for (int i = 0; i < 10; ++i) {
      const size_t which = random() % problems.size();
      const Problem& problem = problems[which];
      const int64_t m = problem.any_m ? 1 + static_cast<int64_t>(random() % 100) : problem.m;
      runs.emplace_back(problem, m, Spread::random, false, random);
      used.push_back(which);
    }
    std::vector<std::thread> threads;
    std::atomic<int> failed{0};
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank, late = random()]() mutable {
        for (size_t i = 0; i < used.size(); ++i, late /= 3) {
          std::this_thread::sleep_for(std::chrono::microseconds(late % 3 * 200));
          if (runs[i].start(operations[used[i]], rank) != TILEPOST_OK) ++failed;
        }
      });
    for (std::thread& thread : threads) thread.join();
    REQUIRE(failed == 0);
    for (size_t i = 0; i < used.size(); ++i) {
      INFO(in_words(problems[used[i]]));
      REQUIRE(synchronize(operations[used[i]], ranks) == "");
      REQUIRE(runs[i].compare() == "");
    }
  }
}

TEST_CASE("ranks whose kernels exchange tiles name the one that does not run, or runs once less") {
  const Problem problem = make(kWays[GENERATE(range(0, kNumWays))], 3, 40);
  const int before = GENERATE(0, 2);
  INFO(in_words(problem) << " runs before " << before);
  const Program program(problem);
  std::mt19937_64 random(1);
  PatternRun run(problem, problem.m, Spread::random, false, random);
  const Comms comms(3);
  const Ops ops(comms, program.get(), 3, 0.3);
  for (int i = 0; i < before; ++i) {
    REQUIRE(run.start(ops) == "");
    REQUIRE(synchronize(ops, 3) == "");
  }
  for (const int rank : {0, 2}) REQUIRE(run.start(ops, rank) == TILEPOST_OK);
  for (const int rank : {0, 2}) {
    CHECK(tilepost_op_synchronize(ops[rank]) == TILEPOST_TIMEOUT);
    CHECK_THAT(tilepost_last_error(),
               before == 0 ? Catch::Contains("run 1 of 'hand_woven', begin: rank 1 did not arrive "
                                             "at the collective within 0.3 s")
                           : Catch::Contains("run 3 of 'hand_woven': rank 1 has not begun the run "
                                             "within 0.3 s"));
  }
  CHECK(run.start(ops, 1) == TILEPOST_ABORTED);
}

TEST_CASE("ranks whose kernels exchange tiles name the one that runs another m") {
  Problem problem = make(kWays[GENERATE(range(0, kNumWays))], 3, 40);
  problem.any_m = true;
  const int before = GENERATE(0, 1);
  INFO(in_words(problem) << " runs before " << before);
  const Program program(problem);
  std::mt19937_64 random(1);
  PatternRun run(problem, 40, Spread::random, false, random);
  PatternRun other(problem, 17, Spread::random, false, random);
  const Comms comms(3);
  const Ops ops(comms, program.get(), 3, 20);
  for (int i = 0; i < before; ++i) {
    REQUIRE(run.start(ops) == "");
    REQUIRE(synchronize(ops, 3) == "");
  }
  for (const int rank : {0, 2, 1})  // nothing is wrong before all ranks have begun
    REQUIRE((rank == 1 ? other : run).start(ops, rank) == TILEPOST_OK);
  for (const int rank : {0, 1, 2}) {
    CHECK(tilepost_op_synchronize(ops[rank]) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Catch::Contains("17 on rank 1"));
    CHECK_THAT(tilepost_last_error(), Catch::Contains("pass the same m on every rank"));
  }
}

// Two operations share memory. One rank runs one of them while the other rank runs the other.
TEST_CASE("ranks whose kernels exchange tiles in shared memory name the one that runs another") {
  const Problem one = make(kWays[0], 2, 40), two = make(kWays[2], 2, 64);
  const Program first(one), second(two);
  std::mt19937_64 random(1);
  PatternRun run(one, one.m, Spread::random, false, random);
  PatternRun other(two, two.m, Spread::random, false, random);
  const Comms comms(2);
  const Ops ops(comms, first.get(), 2, 20, 2, true), others(comms, second.get(), 2, 20, 2, true);
  for (int i = 0; i < 2; ++i) {
    REQUIRE(run.start(ops) == "");
    REQUIRE(other.start(others) == "");
    REQUIRE(synchronize(others, 2) == "");
  }
  REQUIRE(run.start(ops, 0) == TILEPOST_OK);
  REQUIRE(other.start(others, 1) == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(ops[0]) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Catch::Contains("is at run 3 of 'hand_woven', its operation"));
  CHECK_THAT(tilepost_last_error(),
             Catch::Contains("every rank must make the same calls in the same order"));
}

TEST_CASE("a part that others are not told of is missed, with the rank that has it") {
  const Problem problem = make(kWays[GENERATE(range(0, kNumWays))], 2, 48);
  INFO(in_words(problem));
  const bool rows = problem.row().moves_input();
  CHECK_THAT(run_with(Fault::missing_flag, problem, 1),
             Catch::Contains("a worker did not return from the kernel within 0.4 s: " +
                             std::string(rows ? "rows" : "tiles") + " of rank 0 have not come"));
}

// Ranks read parts while others store them. This race is intended.
TEST_CASE("parts that others are told of too early give wrong results", "[races]") {
  const Problem problem = make(kWays[GENERATE(range(0, kNumWays))], 2, 48);
  if (problem.shots == TILEPOST_ONE_SHOT_LINES || problem.row().moves_input()) return;
  INFO(in_words(problem));
  CHECK_THAT(run_with(Fault::early_flag, problem), Catch::Contains("instead of"));
}

TEST_CASE("one buffer for all runs gives wrong results, or lines that never come", "[races]") {
  const Problem problem = make(kWays[GENERATE(range(0, kNumWays))], 2, 48);
  // No rank goes on before all have read their parts.
  if (problem.shots == TILEPOST_TWO_SHOT) return;
  INFO(in_words(problem));
  const bool lines = problem.shots == TILEPOST_ONE_SHOT_LINES;
  CHECK_THAT(run_with(Fault::one_buffer, problem),
             Catch::Contains(lines ? "within 0.4 s" : "instead of"));
}

TEST_CASE("parts that are waited for with the number of the run before are wrong", "[races]") {
  const Problem problem = make(kWays[GENERATE(range(0, kNumWays))], 2, 48);
  INFO(in_words(problem));
  // Rank 0 also announces its sums with the wrong number.
  const bool tells = problem.shots == TILEPOST_TWO_SHOT;
  const std::string said = run_with(Fault::wrong_run, problem);
  // Without two shots rank 0 goes on too early. It may have ended before others wait for its part.
  if (tells)
    CHECK_THAT(said, Catch::Contains("of rank 0 have not come"));
  else
    CHECK_THAT(said, Catch::Contains("instead of") || Catch::Contains("within 0.4 s"));
}
