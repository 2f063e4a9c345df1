// Routes and numbers of rows that are refused, and patterns that lose a rank.
#include <chrono>
#include <functional>
#include <thread>

#include "tests/catch.h"
#include "tests/host/pattern.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kDeadline = 0.3;
constexpr std::chrono::seconds kInTime{20};  // generous: the machine may be loaded

Problem routed(tilepost_routing_t routing, bool any_m,
               tilepost_pattern_t pattern = TILEPOST_GEMM_ALL_TO_ALL) {
  Problem problem;
  problem.pattern = pattern;
  problem.routing = routing;
  problem.any_m = any_m;
  problem.m = 20;
  problem.n = problem.k = 8;
  return problem;
}

tilepost_route_t route_of(int64_t m, const int64_t* splits, const int32_t* destinations) {
  return {sizeof(tilepost_route_t), m, splits, destinations};
}

// All ranks but rank 1 run. Returns "" if every rank's error has `text`.
std::string errors_without(const Ops& ops, PatternRun& run, int ranks, const std::string& text) {
  for (int rank = 0; rank < ranks; ++rank)
    if (rank != 1 && run.start(ops, rank) != TILEPOST_OK) return tilepost_last_error();
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == 1) continue;
    if (tilepost_op_synchronize(ops[rank]) != TILEPOST_TIMEOUT) return "no timeout";
    const std::string error = tilepost_last_error();
    if (error.find(text) == std::string::npos) return error;
  }
  return "";
}

}  // namespace

TEST_CASE("wrong routes are refused with the index, the value and the bound") {
  const Comms comms(2);
  int64_t splits[2] = {12, 8};
  int32_t destinations[20] = {};
  const struct {
    tilepost_routing_t routing;
    bool any_m;
    const char* message;
    std::function<tilepost_route_t()> make;
  } cases[] = {
      {TILEPOST_ROUTING_EVEN, false, "only one with routing 'splits' or 'rows' takes a route",
       [&] { return route_of(-1, splits, destinations); }},
      {TILEPOST_ROUTING_SPLITS, false, "splits is null",
       [&] { return route_of(-1, nullptr, destinations); }},
      {TILEPOST_ROUTING_SPLITS, false, "the 2 splits sum to 19, the rank has 20 rows",
       [&] {
         splits[0] = 11;
         return route_of(-1, splits, nullptr);
       }},
      {TILEPOST_ROUTING_SPLITS, false, "splits[0] must be from 0 to the rank's 20 rows, got 21",
       [&] {
         splits[0] = 21;
         return route_of(-1, splits, nullptr);
       }},
      {TILEPOST_ROUTING_SPLITS, true, "splits[1] must be from 0 to the rank's 5 rows, got -1",
       [&] {
         splits[0] = 5, splits[1] = -1;
         return route_of(5, splits, nullptr);
       }},
      {TILEPOST_ROUTING_SPLITS, false, "m is 19, the plan is for 20 rows only",
       [&] { return route_of(19, splits, nullptr); }},
      {TILEPOST_ROUTING_ROWS, true, "m must be from 0 to 20, or -1 for 20, got 21",
       [&] { return route_of(21, nullptr, destinations); }},
      {TILEPOST_ROUTING_ROWS, true, "m must be from 0 to 20, or -1 for 20, got -2",
       [&] { return route_of(-2, nullptr, destinations); }},
      {TILEPOST_ROUTING_ROWS, false, "destinations is null",
       [&] { return route_of(-1, splits, nullptr); }},
      {TILEPOST_ROUTING_ROWS, false, "destinations[7] must be a rank from 0 to 1, got 2",
       [&] {
         destinations[7] = 2;
         return route_of(-1, nullptr, destinations);
       }},
      {TILEPOST_ROUTING_ROWS, false, "struct_size is 1, expected", [&] {
         tilepost_route_t route = route_of(-1, nullptr, destinations);
         route.struct_size = 1;
         return route;
       }}};
  for (const auto& refused : cases) {
    INFO(refused.message);
    const Program program(routed(refused.routing, refused.any_m));
    const Ops ops(comms, program.get(), 2);
    splits[0] = 12, splits[1] = 8, destinations[7] = 0;
    const tilepost_route_t route = refused.make();
    CHECK(tilepost_op_route(ops[0], &route, nullptr) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Catch::Contains(refused.message));
  }
}

TEST_CASE("route and run check what they are given") {
  const Problem problem = routed(TILEPOST_ROUTING_ROWS, true);
  const Program program(problem);
  const Comms comms(2);
  const Ops ops(comms, program.get(), 2);
  std::mt19937_64 random(1);
  PatternRun run(problem, 20, Spread::random, false, random);
  CHECK(run.start(ops, 0) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Catch::Contains("call tilepost_op_route before the first run"));
  CHECK(tilepost_op_route(nullptr, nullptr, nullptr) == TILEPOST_INVALID_ARGUMENT);
  CHECK(tilepost_op_route(ops[0], nullptr, nullptr) == TILEPOST_INVALID_ARGUMENT);
  tilepost_route_t route = route_of(0, nullptr, nullptr);
  tilepost_arrivals_t arrivals{};
  CHECK(tilepost_op_route(ops[0], &route, &arrivals) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Catch::Contains("arrivals.struct_size is 0"));
  REQUIRE(run.route(ops) == "");
  alignas(16) uint16_t memory[20 * 8] = {};
  tilepost_run_operands_t operands{};
  operands.struct_size = sizeof operands;
  operands.a = operands.b = operands.out = memory;
  operands.m = 21;
  CHECK(tilepost_op_run_with(ops[0], &operands, nullptr) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Catch::Contains("m is 21, the route has"));
  REQUIRE(run.start(ops) == "");
  for (int rank = 0; rank < 2; ++rank) CHECK(tilepost_op_synchronize(ops[rank]) == TILEPOST_OK);
  CHECK(run.compare() == "");
}

TEST_CASE("a route of rows of A has as many rows as a rank may send, whatever it may get") {
  Problem problem =
      routed(TILEPOST_ROUTING_SPLITS, GENERATE(false, true), TILEPOST_ALL_TO_ALL_GEMM);
  problem.most_received = GENERATE(20, 25, 40);
  const Program program(problem);
  const Comms comms(2);
  const Ops ops(comms, program.get(), 2);
  const int64_t splits[2] = {12, 13};
  const tilepost_route_t route = route_of(25, splits, nullptr);
  CHECK(tilepost_op_route(ops[0], &route, nullptr) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(),
             Catch::Contains(problem.any_m ? "m must be from 0 to 20, or -1 for 20, got 25"
                                           : "m is 25, the plan is for 20 rows only"));
}

TEST_CASE("a rank that would get more rows than it has room for: all ranks are told, and go on") {
  const auto routing = GENERATE(TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS);
  const auto access = GENERATE(TILEPOST_ACCESS_MESSAGES, TILEPOST_ACCESS_READ);
  constexpr int kRanks = 3;
  Problem problem = routed(routing, true, TILEPOST_ALL_TO_ALL_GEMM);
  problem.ranks = kRanks;
  problem.access = access;
  problem.pushes = access != TILEPOST_ACCESS_MESSAGES;
  problem.most_received = 30;
  const Program program(problem);
  const Comms comms(kRanks);
  const Ops ops(comms, program.get(), kRanks);
  std::mt19937_64 random(6);
  const auto run_once = [&] {
    PatternRun run(problem, 20, Spread::random, false, random);
    REQUIRE(run.route(ops) == "");
    REQUIRE(run.start(ops) == "");
    for (int rank = 0; rank < kRanks; ++rank)
      REQUIRE(tilepost_op_synchronize(ops[rank]) == TILEPOST_OK);
    REQUIRE(run.compare() == "");
  };
  const bool had_route = GENERATE(false, true);
  if (had_route) run_once();
  // Rank 1 would get 11 rows of rank 2, and 10 of each other rank.
  std::vector<std::string> errors(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      const int64_t rows = rank == 2 ? 11 : 10;
      const int64_t splits[kRanks] = {0, rows, 0};
      const std::vector<int32_t> destinations(rows, 1);
      const tilepost_route_t route = route_of(rows, splits, destinations.data());
      if (tilepost_op_route(ops[rank], &route, nullptr) == TILEPOST_INVALID_ARGUMENT)
        errors[rank] = tilepost_last_error();
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors)
    CHECK_THAT(error, Catch::Contains("rank 1 would receive 31 rows, the plan is for at most 30"));
  PatternRun unset(problem, 20, Spread::random, false, random);
  if (!had_route) CHECK(unset.start(ops, 0) == TILEPOST_INVALID_ARGUMENT);
  for (int i = 0; i < 3; ++i) run_once();
}

TEST_CASE("m is held to the plan") {
  Problem problem;
  problem.ranks = 1;
  problem.any_m = GENERATE(false, true);
  const Program program(problem);
  const Comms comms(1);
  const Ops ops(comms, program.get(), 1);
  std::vector<uint16_t> inputs(64 * 64), output(64 * 64);
  tilepost_run_operands_t operands{};
  operands.struct_size = sizeof operands;
  operands.a = operands.b = inputs.data();
  operands.out = output.data();
  for (const int64_t m : {int64_t{-2}, int64_t{63}, int64_t{65}, int64_t{1} << 40}) {
    operands.m = m;
    const bool good = problem.any_m && m == 63;
    CHECK(tilepost_op_run_with(ops[0], &operands, nullptr) ==
          (good ? TILEPOST_OK : TILEPOST_INVALID_ARGUMENT));
    if (!good)
      CHECK_THAT(
          tilepost_last_error(),
          Catch::Contains(problem.any_m
                              ? "m must be from 0 to 64, or TILEPOST_PLANNED_M (-1) for 64, got "
                              : "the plan is for 64 rows only") &&
              Catch::Contains(std::to_string(m)));
  }
  CHECK(tilepost_op_synchronize(ops[0]) == TILEPOST_OK);
}

TEST_CASE("the consumer's operands are checked") {
  Problem problem;
  problem.ranks = 1;
  problem.consumer = TILEPOST_CONSUMER_RESIDUAL_RMS_NORM;
  const Program program(problem);
  const Comms comms(1);
  const Ops ops(comms, program.get(), 1);
  alignas(16) static uint16_t memory[64 * 64];
  tilepost_run_operands_t operands{};
  operands.struct_size = sizeof operands;
  operands.a = operands.b = operands.out = memory;
  const auto check = [&](const char* message) {
    CHECK(tilepost_op_run_with(ops[0], &operands, nullptr) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Catch::Contains(message));
  };
  check("norm_weight is null, but the plan's consumer reads it");
  operands.norm_weight = memory;
  check("norm_residual is null");
  operands.norm_residual = memory + 1;
  check("norm_residual must be a multiple of 16 bytes");
  operands.norm_residual = memory;
  operands.norm_epsilon = -1;
  check("norm_epsilon must be finite and at least 0, got -1");
}

// 100 and 104 rows make as many tiles, so these runs differ only in m.
TEST_CASE("a rank with another m than the others: all are told which ranks, and both values") {
  Problem problem;
  problem.pattern = GENERATE(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER,
                             TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_ALL_GATHER_GEMM);
  problem.access = GENERATE(TILEPOST_ACCESS_MESSAGES, TILEPOST_ACCESS_READ, TILEPOST_ACCESS_WRITE);
  if (problem.row().moves_input() && problem.access == TILEPOST_ACCESS_WRITE) return;
  const bool in_sequence = GENERATE(false, true);
  if (in_sequence && problem.access != TILEPOST_ACCESS_MESSAGES) return;
  if (in_sequence) problem.transport = TILEPOST_TRANSPORT_NONE;
  problem.pushes = problem.row().moves_input() && problem.access != TILEPOST_ACCESS_MESSAGES;
  problem.any_m = true;
  problem.ranks = 3;
  problem.m = 128;
  INFO("pattern " << problem.pattern << " access " << problem.access);
  const Program program(problem);
  std::mt19937_64 random(2);
  PatternRun most(problem, 104, Spread::random, false, random);
  PatternRun other(problem, 100, Spread::random, false, random);
  const Comms comms(3);
  const Ops ops(comms, program.get(), 3, 20);
  // The last rank may come after the others have found the difference.
  bool started[3] = {};
  for (int rank = 0; rank < 3; ++rank)
    started[rank] = (rank == 1 ? other : most).start(ops, rank) == TILEPOST_OK;
  REQUIRE((started[0] && started[1]));
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(tilepost_op_synchronize(ops[rank]) ==
          (started[rank] ? TILEPOST_INVALID_ARGUMENT : TILEPOST_ABORTED));
    CHECK_THAT(tilepost_last_error(),
               Catch::Contains("run 1 of 'hand_woven': m is ") &&
                   Catch::Contains("100 on rank 1") &&
                   (Catch::Contains("104 on rank 0") || Catch::Contains("104 on rank 2")) &&
                   Catch::Contains("pass the same m on every rank"));
  }
}

TEST_CASE("a rank that never runs ends the others, whatever the pattern") {
  const auto pattern = GENERATE(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_GEMM_ALL_TO_ALL,
                                TILEPOST_ALL_GATHER_GEMM, TILEPOST_ALL_TO_ALL_GEMM);
  Problem problem;
  problem.pattern = pattern;
  problem.ranks = 3;
  problem.transport = GENERATE(TILEPOST_TRANSPORT_HOST, TILEPOST_TRANSPORT_NONE);
  const Program program(problem);
  const auto start = Clock::now();
  std::mt19937_64 random(3);
  PatternRun run(problem, problem.m, Spread::random, false, random);
  {
    const Comms comms(3);
    const Ops ops(comms, program.get(), 3, kDeadline);
    CHECK(errors_without(ops, run, 3, "rank 1 did not arrive at the collective within 0.3 s") ==
          "");
  }
  CHECK(Clock::now() - start < kInTime);
}

TEST_CASE("a rank that lost a signal is named, whatever the pattern") {
  Problem problem;
  problem.pattern = GENERATE(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_GEMM_ALL_TO_ALL);
  problem.layout = GENERATE(TILEPOST_PANEL, TILEPOST_TILE);
  problem.fault = hand_woven::Fault::missing_signal;
  const Program program(problem);
  std::mt19937_64 random(4);
  PatternRun run(problem, problem.m, Spread::random, false, random);
  const Comms comms(2);
  const Ops ops(comms, program.get(), 2, kDeadline);
  REQUIRE(run.start(ops) == "");
  CHECK(tilepost_op_synchronize(ops[0]) == TILEPOST_TIMEOUT);
  CHECK_THAT(tilepost_last_error(), Catch::Contains("the counter of group ") &&
                                        Catch::Contains(" stands at ") &&
                                        Catch::Contains(", target "));
}

TEST_CASE("a route that a rank never sets ends in time, and so does one against a run") {
  const Problem problem = routed(TILEPOST_ROUTING_SPLITS, false);
  const Program program(problem);
  const int64_t splits[2] = {12, 8};
  const tilepost_route_t route = route_of(-1, splits, nullptr);
  std::mt19937_64 random(5);
  PatternRun run(problem, problem.m, Spread::random, false, random);
  const auto start = Clock::now();
  {
    const Comms comms(2);
    const Ops ops(comms, program.get(), 2, kDeadline);
    CHECK(tilepost_op_route(ops[1], &route, nullptr) == TILEPOST_TIMEOUT);
    CHECK_THAT(tilepost_last_error(),
               Catch::Contains("rank 1, route 1 of 'hand_woven': rank 0 did not arrive"));
    CHECK(tilepost_op_route(ops[0], &route, nullptr) == TILEPOST_ABORTED);
  }
  {
    const Comms comms(2);
    const Ops ops(comms, program.get(), 2, kDeadline);
    std::thread other([&] { tilepost_op_route(ops[1], &route, nullptr); });
    CHECK(tilepost_op_route(ops[0], &route, nullptr) == TILEPOST_OK);
    other.join();
    REQUIRE(run.start(ops, 0) == TILEPOST_OK);
    CHECK(tilepost_op_route(ops[1], &route, nullptr) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Catch::Contains("rank 1 is at route 2 of 'hand_woven'") &&
                                          Catch::Contains("rank 0 is at run 1 of 'hand_woven'"));
  }
  CHECK(Clock::now() - start < kInTime);
}
