// Ranks that read or write each other's memory, where something goes wrong. A run ends in time, its
// error names the rank that is missing, and no memory goes away while others access it.
#include <chrono>
#include <functional>

#include "tests/catch.h"
#include "tests/host/pattern.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kDeadline = 0.3;
constexpr std::chrono::seconds kInTime{20};  // generous: the machine may be loaded

struct Variant {
  tilepost_access_t access;
  tilepost_pattern_t pattern;
  bool pushes = false;
  bool neighbours = false;
};
constexpr Variant kVariants[] = {{TILEPOST_ACCESS_READ, TILEPOST_GEMM_ALL_REDUCE},
                                 {TILEPOST_ACCESS_READ, TILEPOST_GEMM_REDUCE_SCATTER},
                                 {TILEPOST_ACCESS_READ, TILEPOST_GEMM_ALL_TO_ALL},
                                 {TILEPOST_ACCESS_READ, TILEPOST_ALL_GATHER_GEMM, true},
                                 {TILEPOST_ACCESS_WRITE, TILEPOST_GEMM_ALL_REDUCE},
                                 {TILEPOST_ACCESS_WRITE, TILEPOST_GEMM_REDUCE_SCATTER},
                                 {TILEPOST_ACCESS_WRITE, TILEPOST_GEMM_ALL_TO_ALL},
                                 {TILEPOST_ACCESS_WRITE, TILEPOST_GEMM_ALL_REDUCE, true},
                                 {TILEPOST_ACCESS_WRITE, TILEPOST_ALL_GATHER_GEMM, true},
                                 {TILEPOST_ACCESS_READ, TILEPOST_ALL_TO_ALL_GEMM, true},
                                 {TILEPOST_ACCESS_WRITE, TILEPOST_ALL_TO_ALL_GEMM, true},
                                 {TILEPOST_ACCESS_READ, TILEPOST_ALL_GATHER_GEMM, true, true}};
constexpr int kNumVariants = std::size(kVariants);

Problem make(const Variant& variant, int ranks) {
  Problem problem;
  problem.access = variant.access;
  problem.pattern = variant.pattern;
  problem.pushes = variant.pushes;
  problem.neighbours = variant.neighbours;
  problem.ranks = ranks;
  problem.m = 100;
  problem.stagger = 3;
  return problem;
}

}  // namespace

TEST_CASE("ranks that share memory name the one that never runs") {
  const Problem problem = make(kVariants[GENERATE(range(0, kNumVariants))], 3);
  INFO("access " << problem.access << " pattern " << problem.pattern);
  const Program program(problem);
  std::mt19937_64 random(1);
  PatternRun run(problem, problem.m, Spread::random, false, random);
  const auto start = Clock::now();
  {
    const Comms comms(3);
    const Ops ops(comms, program.get(), 3, kDeadline);
    for (const int rank : {0, 2}) REQUIRE(run.start(ops, rank) == TILEPOST_OK);
    for (const int rank : {0, 2}) {
      CHECK(tilepost_op_synchronize(ops[rank]) == TILEPOST_TIMEOUT);
      CHECK_THAT(tilepost_last_error(),
                 Catch::Contains("run 1 of 'hand_woven', begin: rank 1 did not arrive at the "
                                 "collective within 0.3 s"));
    }
    CHECK(run.start(ops, 1) == TILEPOST_ABORTED);
  }
  CHECK(Clock::now() - start < kInTime);
}

TEST_CASE("ranks that share memory name the counter that stays behind") {
  Problem problem = make(kVariants[GENERATE(range(0, kNumVariants))], 2);
  if (problem.row().moves_input()) return;  // tiles raise no counters there
  INFO("access " << problem.access << " pattern " << problem.pattern);
  problem.fault = hand_woven::Fault::missing_signal;
  const Program program(problem);
  std::mt19937_64 random(2);
  PatternRun run(problem, problem.m, Spread::random, false, random);
  const Comms comms(2);
  const Ops ops(comms, program.get(), 2, kDeadline);
  REQUIRE(run.start(ops) == "");
  for (int rank = 0; rank < 2; ++rank) {
    CHECK(tilepost_op_synchronize(ops[rank]) == TILEPOST_TIMEOUT);
    CHECK_THAT(tilepost_last_error(), Catch::Contains("the counter of group 2") &&
                                          Catch::Contains(" stands at ") &&
                                          Catch::Contains(", target "));
  }
}

// The early signal races with the tile by intention. ThreadSanitizer would rightly report it.
TEST_CASE("a tile that is announced before it is stored is caught", "[races]") {
  Problem problem = make(kVariants[GENERATE(range(0, kNumVariants))], 2);
  if (problem.row().moves_input()) return;
  INFO("access " << problem.access << " pattern " << problem.pattern);
  problem.stagger = 0;  // the last position has rows of the last rank
  problem.groups = 1;
  problem.fault = hand_woven::Fault::early_signal;
  const Program program(problem);
  std::mt19937_64 random(3);
  PatternRun run(problem, problem.m, Spread::random, false, random);
  const Comms comms(2);
  const Ops ops(comms, program.get(), 2);
  REQUIRE(run.start(ops) == "");
  for (int rank = 0; rank < 2; ++rank) REQUIRE(tilepost_op_synchronize(ops[rank]) == TILEPOST_OK);
  CHECK_THAT(run.compare(), Catch::Contains("instead of"));
}

TEST_CASE("operations whose kernels store into others' memory are destroyed in any order") {
  Problem problem = make(kVariants[GENERATE(4, 5, 6, 7)], 3);
  problem.fault = GENERATE(hand_woven::Fault::late_return, hand_woven::Fault::missing_signal);
  std::mt19937_64 random(4);
  PatternRun run(problem, problem.m, Spread::random, false, random);
  const Program program(problem);
  const auto start = Clock::now();
  for (int round = 0; round < 3; ++round) {
    const Comms comms(3);
    tilepost_options_t options = tilepost_default_options();
    options.deadline_seconds = kDeadline;
    std::vector<tilepost_op_t> ops(3);
    for (int rank = 0; rank < 3; ++rank)
      REQUIRE(tilepost_op_create(comms[rank], &program.get(), &options, &ops[rank]) == TILEPOST_OK);
    for (int rank = 0; rank < 3; ++rank) REQUIRE(run.start(ops[rank], rank) == TILEPOST_OK);
    for (int i = 0; i < 3; ++i) CHECK(tilepost_op_destroy(ops[(round + i) % 3]) == TILEPOST_OK);
  }
  CHECK(Clock::now() - start < kInTime);
}

TEST_CASE("accesses that the host target does not know are refused") {
  const auto refused = [](const char* words, const std::function<void(tilepost_plan_t&)>& change,
                          const Variant& variant = kVariants[5]) {
    Program program(make(variant, 2));
    change(program.plan());
    const Comms comms(2);
    tilepost_op_t op = nullptr;
    const auto result = tilepost_op_create(comms[0], &program.get(), nullptr, &op);
    CHECK((result == TILEPOST_UNSUPPORTED || result == TILEPOST_INVALID_ARGUMENT));
    CHECK(op == nullptr);
    CHECK_THAT(tilepost_last_error(), Catch::Contains(words));
  };
  const auto set = [](auto tilepost_plan_t::*field, int value) {
    return [field, value](tilepost_plan_t& plan) {
      plan.*field = static_cast<std::remove_reference_t<decltype(plan.*field)>>(value);
    };
  };
  refused("does not know access 4", set(&tilepost_plan_t::access, 4));
  refused("does not know sum 2", set(&tilepost_plan_t::sum, 2));
  refused("access is 2, expected 0 with transport 0", set(&tilepost_plan_t::transport, 0));
  refused("layout is 1, expected panel (0)",
          [](tilepost_plan_t& plan) { plan.map.layout = TILEPOST_TILE; });
  refused("round_robin is 1, expected", set(&tilepost_plan_t::access, 0), kVariants[3]);
  for (const int variant : {3, 8, 9, 10})
    refused("pushes is 0, expected 1 where rows of A are copied", set(&tilepost_plan_t::pushes, 0),
            kVariants[variant]);
  for (const int variant : {0, 2, 5, 6})
    refused("pushes is 1, expected", set(&tilepost_plan_t::pushes, 1), kVariants[variant]);
  for (const int variant : {6, 10})
    refused("routing is 1, expected even (0)", set(&tilepost_plan_t::routing, 1),
            kVariants[variant]);
  refused("number of shares is 2, expected 1", set(&tilepost_plan_t::access, 0), kVariants[0]);
  refused("number of shares is 1, expected 2", [](tilepost_plan_t& plan) { plan.map.ranks = 1; });
  refused("stagger is -1", [](tilepost_plan_t& plan) { plan.map.stagger = -1; });
  refused(
      "stagger is 3, expected 0, or more where groups are parts of shares",
      [](tilepost_plan_t& plan) { plan.map.stagger = 3; }, kVariants[3]);
}
