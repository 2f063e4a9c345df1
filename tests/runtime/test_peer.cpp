// Transport peer: kernels that store into the other ranks' memory, with ranks as threads.
#include <set>

#include "tests/catch.h"
#include "tests/runtime/ranks.h"

using Catch::Contains;
using fakes::world;
using order::Order;
using ranks::Ranks;
using sample::count_calls;
using sample::Program;
using sample::Setup;

namespace {

constexpr auto kWrite = TILEPOST_ACCESS_WRITE;

}  // namespace

TEST_CASE("peer: every rank gets what it should, run after run, captured or not") {
  const int count = GENERATE(2, 3, 4);
  const int64_t m = GENERATE(1, 7, 16, 61, 64);
  const auto pattern =
      GENERATE(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_GEMM_ALL_TO_ALL);
  const auto sum = GENERATE(TILEPOST_SUM_STAGED, TILEPOST_SUM_ADDED);
  const int stagger = GENERATE(0, 4);
  CAPTURE(count, m, static_cast<int>(pattern), static_cast<int>(sum), stagger);
  if (sum == TILEPOST_SUM_ADDED && pattern == TILEPOST_GEMM_ALL_TO_ALL) return;
  fakes::reset();
  {
    Program program;
    program.plan.map.stagger = stagger;
    program.plan.sum = sum;
    ranks::use_shared(program, kWrite, pattern, count, m);
    Ranks all(program, count);
    all.create();
    INFO(all.text());
    REQUIRE(all.all_ok());
    all.run_mixed();
    INFO(all.text());
    REQUIRE(all.all_ok());
    CHECK(all.wrong() == 0);
    all.destroy();
  }
  CHECK(world().live() == 0);
}

TEST_CASE("peer: any number of rows in any order") {
  const auto pattern =
      GENERATE(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_GEMM_ALL_TO_ALL);
  CAPTURE(static_cast<int>(pattern));
  fakes::reset();
  {
    Program program;
    program.plan.any_m = 1;
    ranks::use_shared(program, kWrite, pattern, 3, 61);
    Ranks all(program, 3);
    all.create();
    for (int64_t m = 1; m <= 61; m += 3) all.run(2, m);
    for (int64_t m = 61; m >= 1; m -= 5) all.run(1, m);
    INFO(all.text());
    REQUIRE(all.all_ok());
    CHECK(all.wrong() == 0);
    all.destroy();
  }
  CHECK(world().live() == 0);
}

TEST_CASE("peer: runs that do not overlap store on their own rank, and NCCL takes it from there") {
  const auto pattern =
      GENERATE(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_GEMM_ALL_TO_ALL);
  CAPTURE(static_cast<int>(pattern));
  constexpr int64_t kRows = 5;
  fakes::reset();
  {
    Program program;
    ranks::use_sequence_runs(program);
    ranks::use_shared(program, kWrite, pattern, 3, 61);
    Ranks all(program, 3);
    all.create();
    for (int round = 0; round < 3; ++round) {
      all.run(2);
      world().reset_calls();
      all.run_unchecked(1, kRows);
      CHECK(count_calls("shared_") == 0);
      // Each rank's whole product lies where NCCL reads it.
      std::set<const void*> seen;
      for (const fakes::NcclCall& call : world().nccl) {
        if (call.from == nullptr || call.name == "send") continue;
        seen.insert(call.from);
        CHECK(all.is_product(call.from, kRows));
        for (int rank = 0; rank < 3; ++rank) CHECK(call.to != call.from);
      }
      CHECK(seen.size() == (pattern == TILEPOST_GEMM_ALL_TO_ALL ? 0 : 3));
    }
    INFO(all.text());
    REQUIRE(all.all_ok());
    CHECK(all.wrong() == 0);
    all.destroy();
  }
  CHECK(world().live() == 0);
}

TEST_CASE("peer: a consumer reads the rows of an AllReduce where they come together") {
  fakes::reset();
  Program program;
  program.plan.consumer = TILEPOST_CONSUMER_RMS_NORM;
  ranks::use_shared(program, kWrite, TILEPOST_GEMM_ALL_REDUCE, 3, 61);
  Ranks all(program, 3);
  all.create();
  all.run(3);
  INFO(all.text());
  REQUIRE(all.all_ok());
  CHECK(all.normalised() == 3 * 3 * 61 * 24);
  CHECK(all.wrong() == 0);
}

TEST_CASE("peer: a rank that does not come is waited for no longer than the deadline") {
  fakes::reset();
  Program program;
  ranks::use_shared(program, kWrite, TILEPOST_GEMM_REDUCE_SCATTER, 3, 64);
  Ranks all(program, 3, 0.2);
  all.create();
  all.run(2);
  REQUIRE(all.all_ok());
  all.run_but(1);
  for (const int rank : {0, 2}) {
    CHECK(all.at(rank).result == TILEPOST_TIMEOUT);
    CHECK_THAT(all.at(rank).text, Contains("run 3") && Contains("group 1"));
  }
}

TEST_CASE("peer: parts are added when all ranks have stored them, and pulled when they are added") {
  const bool captured = GENERATE(false, true);
  fakes::reset();
  Program program;  // three ranks, 16 rows each, in three groups on two lanes
  program.plan.pace = 77;
  ranks::use_shared(program, kWrite, TILEPOST_GEMM_ALL_REDUCE, 3, 48);
  const Order order = ranks::order_of_run(program, captured);
  CHECK(world().view.pace == 77);
  CHECK(world().view.share_rows == 16);
  CHECK(reinterpret_cast<uintptr_t>(world().view.out_maps) % 64 == 0);
  CHECK(order.all_before("shared_begin", "gemm"));
  CHECK(order.all_before("shared_begin", "wait_stored"));
  REQUIRE(order.count("wait") == 0);
  REQUIRE(order.count("wait_stored") == 3);
  REQUIRE(order.count("sum") == 3);
  REQUIRE(order.count("announce_and_wait") == 3);
  REQUIRE(order.count("cudaMemcpyAsync") == 6);
  for (int g = 0; g < 3; ++g) {
    CHECK(order.before("wait_stored", g, "sum", g));
    CHECK(order.before("sum", g, "announce_and_wait", g));
    for (int copy = 2 * g; copy < 2 * g + 2; ++copy)
      CHECK(order.before("announce_and_wait", g, "cudaMemcpyAsync", copy));
  }
  for (const char* call : {"sum", "cudaMemcpyAsync", "wait_stored"}) {
    CAPTURE(call);
    CHECK(order.all_before(call, "shared_end"));
    CHECK(order.joined(call));
  }
  if (captured) CHECK(order.joined("shared_end"));
}

TEST_CASE("peer: plans that cannot be are refused") {
  const auto refused = [](auto change) {
    return sample::is_incomplete([&](Program& program) {
      ranks::use_shared(program, kWrite, TILEPOST_GEMM_REDUCE_SCATTER, 2, 64);
      change(program.plan);
    });
  };
  CHECK_FALSE(refused([](tilepost_plan_t&) {}));
  CHECK(refused([](tilepost_plan_t& plan) { plan.access = TILEPOST_ACCESS_READ; }));
  CHECK(refused([](tilepost_plan_t& plan) { plan.access = TILEPOST_ACCESS_MESSAGES; }));
  CHECK(refused([](tilepost_plan_t& plan) { plan.map.division = TILEPOST_DIVISION_ROWS; }));
  CHECK(refused([](tilepost_plan_t& plan) { plan.map.layout = TILEPOST_TILE; }));
  CHECK(refused([](tilepost_plan_t& plan) { plan.map.ranks = 1; }));
  CHECK(refused([](tilepost_plan_t& plan) { plan.comm_lanes = 5; }));
  CHECK(refused([](tilepost_plan_t& plan) { plan.map.num_groups = 4096; }));
  CHECK(refused([](tilepost_plan_t& plan) { plan.pace = -1; }));
  CHECK(refused([](tilepost_plan_t& plan) { plan.kernel.launch = TILEPOST_LAUNCH_POINTERS; }));
  CHECK(refused([](tilepost_plan_t& plan) {
    plan.sum = TILEPOST_SUM_ADDED;
    plan.any_m = 1;
    plan.model.sequence_ctas = 132;
  }));
  CHECK(refused([](tilepost_plan_t& plan) {
    plan.pattern = TILEPOST_GEMM_ALL_TO_ALL;
    plan.routing = TILEPOST_ROUTING_SPLITS;
  }));
}
