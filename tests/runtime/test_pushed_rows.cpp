// all_gather_gemm whose helper warps push the own rows of A into the other ranks' memory, where the
// kernels wait for them: nothing is beside the GEMM.
#include "tests/catch.h"
#include "tests/runtime/ranks.h"
#include "tilepost/task_chunks.h"

using Catch::Contains;
using fakes::world;
using order::Order;
using ranks::Ranks;
using sample::count_calls;
using sample::Program;
using sample::run_on;
using sample::Setup;

namespace {

// Chunks of `units` of 16 bytes.
int helper_bytes_of(int units) {
  return tilepost::kTaskBarriers + tilepost::kTaskBuffers * units * tilepost::kTaskUnit;
}

}  // namespace

TEST_CASE("pushed rows: every rank gets what it should, run after run, captured or not") {
  const int count = GENERATE(2, 3, 4);
  // Shares that end with a tile and such that do not, that are less than one, and none.
  const int64_t m = GENERATE(1, 5, 7, 9, 16, 21, 35, 48, 61, 64);
  const int units = GENERATE(1, 3, 256);
  CAPTURE(count, m, units);
  fakes::reset();
  {
    Program program;
    ranks::use_pushed_rows(program, count, m);
    program.plan.kernel.helper_bytes = helper_bytes_of(units);
    Ranks all(program, count);
    all.create();
    INFO(all.text());
    REQUIRE(all.all_ok());
    world().reset_calls();
    all.run_mixed();
    INFO(all.text());
    REQUIRE(all.all_ok());
    CHECK(all.wrong() == 0);
    for (const char* call : {"wait_", "announce", "post "}) CHECK(count_calls(call) == 0);
    all.destroy();
  }
  CHECK(world().live() == 0);
}

TEST_CASE("pushed rows: any number of rows in any order") {
  const int count = GENERATE(2, 3, 4);
  CAPTURE(count);
  fakes::reset();
  {
    Program program;
    program.plan.any_m = 1;
    ranks::use_pushed_rows(program, count, 61);
    program.plan.kernel.helper_bytes = helper_bytes_of(2);
    Ranks all(program, count);
    all.create();
    for (int64_t m = 1; m <= 61; ++m) all.run(2, m);
    for (int64_t m = 61; m >= 1; m -= 5) all.run(1, m);
    for (int64_t m = 1; m <= 61; m += 12) all.run_captured(m);
    INFO(all.text());
    REQUIRE(all.all_ok());
    CHECK(all.wrong() == 0);
    all.destroy();
  }
  CHECK(world().live() == 0);
}

TEST_CASE("pushed rows: runs that do not overlap push nothing, whatever comes before and behind") {
  fakes::reset();
  Program program;
  ranks::use_sequence_runs(program);
  ranks::use_pushed_rows(program, 3, 61);
  Ranks all(program, 3);
  all.create();
  for (int round = 0; round < 3; ++round) {
    all.run(2);
    world().reset_calls();
    // What NCCL moves is not moved here, so nothing is compared.
    all.run_unchecked(2, 5);
    CHECK(world().nccl.size() > 0);
    all.run_captured();
  }
  INFO(all.text());
  REQUIRE(all.all_ok());
  CHECK(all.wrong() == 0);
}

TEST_CASE("pushed rows: what the kernel is told of them") {
  // Three ranks, this is rank 1; a tile has 4 rows of 8 elements.
  const bool aligned = GENERATE(true, false);
  const int64_t m = aligned ? 48 : 45;
  constexpr int64_t kRow = 8 * 2;
  fakes::reset();
  Program program;
  ranks::use_pushed_rows(program, 3, m);
  program.plan.kernel.helper_bytes = helper_bytes_of(1);
  Setup setup;
  REQUIRE(setup.create(program) == TILEPOST_OK);
  REQUIRE(run_on(setup, fakes::user_stream("user")) == TILEPOST_OK);
  const tilepost_view_t view = world().view;
  const tilepost_tasks_t& tasks = view.tasks;
  const int64_t own = m / 3;
  // Groups of 4, 4 and 8 of a share's rows. Tiles that rows of two ranks share have the first or
  // the last rows of this one.
  const int edges = aligned ? 0 : 2;
  REQUIRE(tasks.count == 3 + edges);
  for (int i = 0; i < edges; ++i) {
    CHECK(tasks.list[i].push == -1);
    CHECK(tasks.list[i].counts == 0);
    CHECK(tasks.list[i].from == (i == 0 ? 0 : own - 4) * kRow);
    CHECK(tasks.list[i].to == tasks.list[i].from + own * kRow);
    CHECK(tasks.list[i].bytes == 4 * kRow);
  }
  for (int g = 1; g <= 3; ++g) {
    const tilepost_task_t& task = tasks.list[edges + g - 1];
    const int64_t first = g == 1 ? 0 : g == 2 ? 4 : 8, rows = g < 3 ? 4 : own - 8;
    CHECK(task.from == first * kRow);
    CHECK(task.to == (own + first) * kRow);
    CHECK(task.push == task.to);
    CHECK(task.bytes == rows * kRow);
    CHECK(task.waits == -1);
    CHECK(task.counts == g);
    CHECK(tasks.expected[g] == static_cast<uint32_t>(2 * rows));  // chunks of a row
  }
  CHECK(tasks.expected[0] == (aligned ? 0u : 8u));
  CHECK(tasks.in == sample::operands().a);
  CHECK(tasks.there != nullptr);
  CHECK(tasks.done == tasks.stored);
  REQUIRE(view.in_map != nullptr);
  CHECK(view.out_maps == nullptr);
}

TEST_CASE("pushed rows: the run ends with the GEMM") {
  const bool captured = GENERATE(false, true);
  CAPTURE(captured);
  fakes::reset();
  Program program;
  ranks::use_pushed_rows(program, 3, 48);
  const Order order = ranks::order_of_run(program, captured);
  CHECK(order.all_before("shared_begin", "gemm"));
  CHECK(order.all_before("gemm", "shared_end"));
  CHECK(order.joined("gemm"));
  CHECK(order.joined("shared_end") == captured);
  for (const char* call : {"post", "wait_added", "announce"}) CHECK(order.count(call) == 0);
  // The caller's memory for the rows.
  REQUIRE(order.count("cudaMemcpyAsync") == 1);
  CHECK(order.all_before("gemm", "cudaMemcpyAsync"));
  CHECK(order.all_before("cudaMemcpyAsync", "shared_end"));
}

TEST_CASE("pushed rows: a rank that does not come is waited for no longer than the deadline") {
  fakes::reset();
  Program program;
  ranks::use_pushed_rows(program, 3, 48);
  Ranks all(program, 3, 0.2);
  all.create();
  all.run(2);
  REQUIRE(all.all_ok());
  all.run_but(1);
  for (const int rank : {0, 2}) {
    CHECK(all.at(rank).result == TILEPOST_TIMEOUT);
    CHECK_THAT(all.at(rank).text,
               Contains("run 3: group 2 of 4: not all ranks' rows were stored within 0.2 s: "
                        "1 signals are missing"));
  }
}

TEST_CASE("pushed rows: own rows that others' are read with are told when they are not copied") {
  fakes::reset();
  Program program;
  ranks::use_pushed_rows(program, 3, 45);  // shares do not end with a tile
  Setup setup;
  REQUIRE(setup.create(program, 0.2) == TILEPOST_OK);
  world().gemm_stops = true;
  REQUIRE(run_on(setup, fakes::user_stream("user")) == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_TIMEOUT);
  CHECK_THAT(tilepost_last_error(),
             Contains("run 1: group 1 of 4: this rank's rows were not copied within 0.2 s: ") &&
                 Contains(" chunks are missing; the GEMM, whose warps copy them, has stopped"));
}

TEST_CASE("pushed rows: plans that cannot be are refused") {
  const auto refused = [](auto change) {
    return sample::is_incomplete([&](Program& program) {
      ranks::use_pushed_rows(program, 2, 64);
      change(program.plan);
    });
  };
  CHECK_FALSE(refused([](tilepost_plan_t&) {}));
  CHECK(refused([](tilepost_plan_t& plan) { plan.pushes = 0; }));
  CHECK(refused([](tilepost_plan_t& plan) { plan.task_parts = 0; }));
  CHECK(refused([](tilepost_plan_t& plan) { plan.task_parts = 2; }));
  CHECK(refused([](tilepost_plan_t& plan) { plan.k = 12; }));
  CHECK(refused([](tilepost_plan_t& plan) { plan.kernel.helper_bytes = 0; }));
}
