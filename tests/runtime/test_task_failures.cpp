// Runs with tasks that cannot end, or break off, and plans that cannot be.
#include "tests/catch.h"
#include "tests/runtime/ranks.h"

using Catch::Contains;
using fakes::world;
using ranks::Ranks;
using sample::count_calls;
using sample::Program;
using sample::run_on;
using sample::Setup;

namespace {

constexpr auto kAllReduce = TILEPOST_GEMM_ALL_REDUCE;
constexpr auto kReduceScatter = TILEPOST_GEMM_REDUCE_SCATTER;
constexpr auto kAllToAll = TILEPOST_GEMM_ALL_TO_ALL;

}  // namespace

TEST_CASE("tasks: a rank that does not come is waited for no longer than the deadline") {
  const auto pattern = GENERATE(kAllReduce, kReduceScatter, kAllToAll);
  CAPTURE(static_cast<int>(pattern));
  fakes::reset();
  Program program;
  ranks::use_tasks(program, pattern, 3, 48);
  Ranks all(program, 3, 0.2);
  all.create();
  all.run(2);
  REQUIRE(all.all_ok());
  all.run_but(1);
  for (const int rank : {0, 2}) {
    CHECK(all.at(rank).result == TILEPOST_TIMEOUT);
    CHECK_THAT(all.at(rank).text,
               Contains("run 3: group 1 of 3: not all ranks' tiles were stored within 0.2 s: "
                        "6 signals are missing"));
  }
  all.at(1).result = tilepost_op_status(all.at(1).setup.op);
  CHECK(all.at(1).result == TILEPOST_OK);
  // The others have begun what they never end, so nobody frees what they may still store into: the
  // memory itself and the numbers beside it.
  const int before = world().live_allocations;
  CHECK(before > 0);
  all.destroy();
  CHECK(world().live_allocations == 2 * 3);
}

TEST_CASE("tasks: tiles that do not come are told in a replayed run too") {
  const auto pattern = GENERATE(kAllReduce, kReduceScatter);
  const bool captured = GENERATE(false, true);
  CAPTURE(static_cast<int>(pattern), captured);
  fakes::reset();
  Program program;
  ranks::use_tasks(program, pattern, 3, 48);
  Setup setup;
  REQUIRE(setup.create(program, 0.2) == TILEPOST_OK);
  CUstream_st* user = fakes::user_stream("user");
  fakes::stream_of(user).capturing = captured;
  world().gemm_posts_percent = 50;
  REQUIRE(run_on(setup, user) == TILEPOST_OK);
  CHECK(tilepost_op_status(setup.op) == TILEPOST_IN_PROGRESS);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_TIMEOUT);
  CHECK_THAT(tilepost_last_error(),
             Contains(captured ? "rank 1: a replayed run: " : "rank 1: run 1: ") &&
                 Contains("group 1 of 3: not all ranks' tiles were stored within 0.2 s: 9 "
                          "signals are missing"));
}

TEST_CASE("tasks: what ends with the GEMM needs no SM beside it") {
  const auto pattern = GENERATE(kAllReduce, kReduceScatter, kAllToAll);
  CAPTURE(static_cast<int>(pattern));
  fakes::reset();
  Program program;
  ranks::use_tasks(program, pattern, 2, 64);
  program.plan.gemm_ctas = 132;
  program.plan.comm_ctas = 0;
  Setup setup;
  CHECK(setup.create(program) == TILEPOST_OK);
}

TEST_CASE("tasks: sums that are not pushed here are told within the deadline") {
  fakes::reset();
  Program program;
  ranks::use_tasks(program, kAllReduce, 3, 48);
  Ranks all(program, 3, 0.2);
  all.create();
  all.run(2);
  REQUIRE(all.all_ok());
  world().pushes_stop = true;
  all.run_but(-1);  // all come
  for (const int rank : {0, 1, 2}) {
    CHECK(all.at(rank).result == TILEPOST_TIMEOUT);
    CHECK_THAT(all.at(rank).text, Contains("run 3: group 1 of 3: not all ranks' sums were stored "
                                           "within 0.2 s: 2 signals are missing"));
  }
}

TEST_CASE("tasks: plans that cannot be are refused") {
  const auto refused = [](auto change) {
    return sample::is_incomplete([&](Program& program) {
      ranks::use_tasks(program, kReduceScatter, 2, 64);
      change(program.plan);
    });
  };
  CHECK_FALSE(refused([](tilepost_plan_t&) {}));
  CHECK(refused([](tilepost_plan_t& plan) { plan.task_parts = 1; }));
  CHECK(refused([](tilepost_plan_t& plan) { plan.task_parts = -1; }));
  CHECK(refused([](tilepost_plan_t& plan) { plan.sum = TILEPOST_SUM_ADDED; }));
  CHECK(refused([](tilepost_plan_t& plan) { plan.kernel.helper_bytes = 0; }));
  CHECK(refused([](tilepost_plan_t& plan) { plan.kernel.helper_bytes = 250000; }));
  CHECK(refused([](tilepost_plan_t& plan) { plan.map.n = 20; }));
  CHECK(refused([](tilepost_plan_t& plan) { plan.pushes = 1; }));
  CHECK(refused([](tilepost_plan_t& plan) {
    plan.transport = TILEPOST_TRANSPORT_COPY_ENGINE;
    plan.access = TILEPOST_ACCESS_READ;
  }));
}

TEST_CASE("tasks: a run that breaks off before it has begun changes nothing, later it ends all") {
  const auto pattern = GENERATE(kAllReduce, kReduceScatter);
  const bool capture = GENERATE(false, true);
  int calls = 0, broken_runs = 0;
  for (int n = 0; n <= calls; ++n) {
    fakes::reset();
    Program program;
    ranks::use_tasks(program, pattern, 2, 16);
    Setup setup;
    // What is captured begins here at once: a capture that breaks off leaves a run begun, which the
    // end waits for.
    REQUIRE(setup.create(program, capture ? 0.1 : 0) == TILEPOST_OK);
    CUstream_st* user = fakes::user_stream("user");
    fakes::stream_of(user).capturing = capture;
    world().fails_on = std::this_thread::get_id();  // the watchdog calls when it likes
    world().reset_calls();
    world().fail_at = n;
    const auto result = run_on(setup, user);
    if (n == 0) calls = world().calls;
    INFO("call " << n << ": " << world().failed_call << ": " << tilepost_last_error());
    CHECK((result == TILEPOST_OK) == world().failed_call.empty());
    const bool begun =
        count_calls("shared_begin") > 0 && world().failed_call.rfind("shared_begin", 0) != 0;
    const bool broken = result != TILEPOST_OK && begun && !capture;
    broken_runs += broken;
    world().fail_at = 0;
    CHECK(tilepost_op_status(setup.op) == (broken ? result : TILEPOST_OK));
    CHECK(world().aborted_comms == (broken ? 1 : 0));
  }
  CHECK(calls > 10);
  CHECK((broken_runs > 3) == !capture);
}
