// Every pattern on the host target against the reference: layouts, ranks, ragged shapes, routes,
// any number of rows, consumers, and operations that follow each other.
#include <cstdlib>
#include <deque>

#include "tests/catch.h"
#include "tests/host/variants.h"

namespace {

std::string synchronize(const Ops& ops, int ranks) {
  for (int rank = 0; rank < ranks; ++rank)
    if (tilepost_op_synchronize(ops[rank]) != TILEPOST_OK) return tilepost_last_error();
  return "";
}

// Makes a route and a run, and compares. Returns "" if all is well.
std::string run_once(const Ops& ops, PatternRun& run, int ranks) {
  std::string wrong = run.route(ops);
  if (wrong.empty()) wrong = run.start(ops);
  if (wrong.empty()) wrong = synchronize(ops, ranks);
  return wrong.empty() ? run.compare() : wrong;
}

}  // namespace

// Of the shapes of each pattern in turn every third, which has them all in a few of the patterns;
// with TILEPOST_EVERY_SHAPE, as in tests/full.sh, all.
TEST_CASE("every pattern, layout, rank count, ragged shape and route agrees with the reference") {
  const int ranks = GENERATE(1, 2, 3, 4, 8);
  const int step = std::getenv("TILEPOST_EVERY_SHAPE") != nullptr ? 1 : 3;
  int number = ranks;
  std::mt19937_64 random(ranks);
  uint64_t seed = ranks;
  for (const Variant& variant : all_variants())
    for (const int m : {1, 7, 100, 129, 1003})
      for (const int n : {1, 20, 67}) {
        if (m > 1000 && (n > 20 || variant.pattern == TILEPOST_GEMM)) continue;
        ++seed;
        if (++number % step != 0) continue;
        Problem problem = make(variant, ranks, seed);
        problem.m = m;
        problem.n = n;
        problem.k = 5;
        bound_received(problem, seed);
        INFO(describe(problem));
        const Program program(problem);
        const Comms comms(ranks);
        const Ops ops(comms, program.get(), ranks);
        for (const Spread spread : kSpreads) {
          PatternRun run(problem, m, spread, seed % 3 == 0, random);
          REQUIRE(run_once(ops, run, ranks) == "");
          if (!problem.routed()) break;
        }
      }
}

// The race is intended: rank 0 may compute before the rows of rank 1 have come.
TEST_CASE("a launch that does not wait for its rows is caught", "[races]") {
  Problem problem;
  problem.pattern = GENERATE(TILEPOST_ALL_GATHER_GEMM, TILEPOST_ALL_TO_ALL_GEMM);
  problem.access = GENERATE(TILEPOST_ACCESS_MESSAGES, TILEPOST_ACCESS_READ);
  problem.pushes = problem.access == TILEPOST_ACCESS_READ;
  INFO(describe(problem));
  for (const bool waits : {true, false}) {
    problem.neighbours = waits;
    problem.fault = waits ? hand_woven::Fault::none : hand_woven::Fault::early_launch;
    const Program program(problem);
    const Comms comms(2);
    const Ops ops(comms, program.get(), 2);
    std::mt19937_64 random(3);
    PatternRun run(problem, problem.m, Spread::random, false, random);
    REQUIRE(run.start(ops, 0) == TILEPOST_OK);
    std::this_thread::sleep_for(hand_woven::kSleep);
    REQUIRE(run.start(ops, 1) == TILEPOST_OK);
    REQUIRE(synchronize(ops, 2) == "");
    if (waits)
      CHECK(run.compare() == "");
    else
      CHECK_THAT(run.compare(0), Catch::Contains("instead of"));
  }
}

TEST_CASE("any number of rows, up and down, with the routes of each") {
  const int ranks = GENERATE(2, 3, 8);
  const Variant variant = GENERATE(from_range(all_variants()));
  std::mt19937_64 random(ranks);
  Problem problem = make(variant, ranks, random());
  problem.any_m = true;
  problem.m = 150;
  problem.n = 30;
  problem.k = 5;
  problem.groups = 4;
  bound_received(problem, random());
  INFO(describe(problem));
  Program program(problem);
  // Overlap pays only for many rows here, so the smallest runs do not overlap.
  const bool some_in_sequence = random() % 2 != 0;
  if (some_in_sequence) {
    tilepost_model_t& model = program.plan().model;
    model.wave = model.sequence_wave = 1;
    model.latency = model.sequence_latency = 4;
    model.per_byte = model.sequence_per_byte = 1e-3;
    model.sequence_ctas = 2;
  }
  const Comms comms(ranks);
  const Ops ops(comms, program.get(), ranks);
  for (const int m : {150, 1, 7, 15, 16, 17, 100, 150, 2, 129, 33, 150}) {
    INFO("m " << m);
    PatternRun run(problem, m, kSpreads[random() % 3], false, random);
    if (random() % 2 != 0) run.use_lent();
    REQUIRE(run_once(ops, run, ranks) == "");
  }
}

TEST_CASE("sums that are pushed are left where they land, in turns with other memory") {
  const int ranks = GENERATE(2, 3, 4, 8);
  const int m = GENERATE(1, 7, 100, 129, 200);
  std::mt19937_64 random(ranks * 1000 + m);
  Problem problem =
      make({TILEPOST_GEMM_ALL_REDUCE, TILEPOST_PANEL, TILEPOST_CONSUMER_NONE,
            TILEPOST_TRANSPORT_HOST, TILEPOST_ROUTING_EVEN, TILEPOST_ACCESS_WRITE, true},
           ranks, random());
  problem.m = m;
  problem.n = 20;
  problem.k = 5;
  INFO(describe(problem));
  const Program program(problem);
  const Comms comms(ranks);
  const Ops ops(comms, program.get(), ranks);
  tilepost_op_info_t info{};
  REQUIRE(tilepost_op_get_info(ops[0], &info) == TILEPOST_OK);
  REQUIRE(info.out != nullptr);
  for (int i = 0; i < 6; ++i) {
    PatternRun run(problem, m, Spread::random, false, random);
    if (i % 3 != 1) run.use_lent();
    REQUIRE(run_once(ops, run, ranks) == "");
  }
}

TEST_CASE("memory for an output is lent where all ranks store into it, and nowhere else") {
  for (const Variant& variant : all_variants()) {
    const Problem problem = make(variant, 2, 1);
    INFO(describe(problem));
    const Program program(problem);
    const Comms comms(2);
    const Ops ops(comms, program.get(), 2);
    tilepost_op_info_t info{};
    info.out = &info;
    REQUIRE(tilepost_op_get_info(ops[1], &info) == TILEPOST_OK);
    CHECK((info.out != nullptr) == (variant.pushes && variant.pattern == TILEPOST_GEMM_ALL_REDUCE &&
                                    variant.consumer == TILEPOST_CONSUMER_NONE));
  }
}

TEST_CASE("sums that are added as they arrive are the same where every addition is exact") {
  const int ranks = GENERATE(2, 3, 8);
  std::mt19937_64 random(ranks);
  for (const auto pattern : {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER}) {
    Problem problem;
    problem.pattern = pattern;
    problem.ranks = ranks;
    problem.m = 101;
    problem.k = 5;
    problem.type = TILEPOST_F16;
    problem.access = TILEPOST_ACCESS_WRITE;
    problem.sum = TILEPOST_SUM_ADDED;
    INFO(describe(problem));
    const Program program(problem);
    const Comms comms(ranks);
    const Ops ops(comms, program.get(), ranks);
    for (int i = 0; i < 3; ++i) {
      PatternRun run(problem, problem.m, Spread::random, true, random);
      REQUIRE(run_once(ops, run, ranks) == "");
    }
  }
}

TEST_CASE("operations of all patterns take turns on one communicator, several runs in flight") {
  constexpr int kRanks = 3;
  std::mt19937_64 random(5);
  std::deque<Problem> problems;
  std::deque<Program> programs;
  const Comms comms(kRanks);
  std::deque<Ops> operations;
  for (const Variant& variant : all_variants()) {
    Problem problem = make(variant, kRanks, random());
    problem.any_m = random() % 2 != 0;
    problem.m = 40 + static_cast<int64_t>(random() % 60);
    problem.n = 1 + static_cast<int64_t>(random() % 40);
    problem.k = 4;
    bound_received(problem, random());
    problems.push_back(problem);
    operations.emplace_back(comms, programs.emplace_back(problem).get(), kRanks);
  }
  for (int round = 0; round < 60; ++round) {
    std::deque<PatternRun> runs;
    std::vector<size_t> used;
    for (int i = 0; i < 6; ++i) {
      const size_t which = random() % problems.size();
      const Problem& problem = problems[which];
      const int64_t m = problem.any_m ? 1 + static_cast<int64_t>(random() % problem.m) : problem.m;
      PatternRun& run = runs.emplace_back(problem, m, kSpreads[random() % 3], false, random);
      REQUIRE(run.route(operations[which]) == "");
      REQUIRE(run.start(operations[which]) == "");
      used.push_back(which);
    }
    for (size_t i = 0; i < used.size(); ++i) {
      INFO(describe(problems[used[i]]));
      REQUIRE(synchronize(operations[used[i]], kRanks) == "");
      REQUIRE(runs[i].compare() == "");
    }
  }
}

TEST_CASE("all_gather_gemm and gemm_reduce_scatter in a chain") {
  // The output of the first operation is the A of the second.
  constexpr int kRanks = 4, kM = 101, kHidden = 24;
  Problem first, second;
  first.pattern = TILEPOST_ALL_GATHER_GEMM;
  second.pattern = TILEPOST_GEMM_REDUCE_SCATTER;
  first.m = second.m = kM;
  first.ranks = second.ranks = kRanks;
  first.k = second.n = 20;  // shares of x begin at multiples of 16 bytes
  first.n = second.k = kHidden;
  const Program gather(first), scatter(second);
  const Comms comms(kRanks);
  const Ops up(comms, gather.get(), kRanks), down(comms, scatter.get(), kRanks);
  std::mt19937_64 random(11);
  const auto type = first.type;
  for (int round = 0; round < 20; ++round) {
    const auto matrix = [&](int64_t rows, int64_t width) {
      return reference::random_matrix(type, rows, width, false, random);
    };
    const reference::Matrix x = matrix(kM, first.k);
    std::vector<reference::Matrix> b, c, hidden(kRanks), out(kRanks), terms;
    const int64_t share = (kM + kRanks - 1) / kRanks;
    for (int rank = 0; rank < kRanks; ++rank) {
      b.push_back(matrix(first.n, first.k));
      c.push_back(matrix(second.n, second.k));
      hidden[rank].resize(kM * kHidden);
      out[rank].resize(share * second.n);
      const auto product = reference::gemm(type, x, b[rank], kM, first.n, first.k, false);
      terms.push_back(reference::gemm(type, product, c[rank], kM, second.n, second.k, false));
    }
    for (int rank = 0; rank < kRanks; ++rank) {
      REQUIRE(tilepost_op_run(up[rank], x.data() + rank * share * first.k, b[rank].data(),
                              hidden[rank].data(), nullptr) == TILEPOST_OK);
      REQUIRE(tilepost_op_run(down[rank], hidden[rank].data(), c[rank].data(), out[rank].data(),
                              nullptr) == TILEPOST_OK);
    }
    const auto expected = reference::sum(type, terms, false);
    int wrong = 0;
    for (int rank = 0; rank < kRanks; ++rank) {
      REQUIRE(tilepost_op_synchronize(down[rank]) == TILEPOST_OK);
      for (int64_t row = rank * share; row < std::min<int64_t>((rank + 1) * share, kM); ++row)
        for (int64_t col = 0; col < second.n; ++col)
          wrong +=
              out[rank][(row - rank * share) * second.n + col] != expected[row * second.n + col];
    }
    REQUIRE(wrong == 0);
  }
}

// A tile that is stored into another group's block races with the steps by intention.
// ThreadSanitizer would rightly report it.
TEST_CASE("a tile in another's place is caught in every pattern", "[races]") {
  const Variant variant = GENERATE(from_range(all_variants()));
  Problem problem = make(variant, 3, 1);
  // Where a kernel stores by rows of the product, the fault exchanges no destinations.
  if (problem.routing == TILEPOST_ROUTING_ROWS || problem.row().moves_input() ||
      problem.access == TILEPOST_ACCESS_WRITE || problem.access == TILEPOST_ACCESS_TILES)
    return;
  INFO(describe(problem));
  problem.n = 40;
  problem.fault = hand_woven::Fault::swapped_rows;
  const Program program(problem);
  const Comms comms(3);
  const Ops ops(comms, program.get(), 3);
  std::mt19937_64 random(6);
  PatternRun run(problem, problem.m, Spread::random, false, random);
  CHECK_THAT(run_once(ops, run, 3), Catch::Contains("instead of"));
}
