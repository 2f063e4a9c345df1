// Tasks of an all_gather_gemm: the kernel's helper warps copy the own rows of A to where the others
// read them, while it computes from them where the caller has them.
#include <algorithm>

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

constexpr auto kGather = TILEPOST_ALL_GATHER_GEMM;

// Chunks of `units` of 16 bytes.
int helper_bytes_of(int units) {
  return tilepost::kTaskBarriers + tilepost::kTaskBuffers * units * tilepost::kTaskUnit;
}

fakes::MapOf map_at(const void* map) {
  return *static_cast<const fakes::MapOf*>(map);
}

}  // namespace

TEST_CASE("gather tasks: every rank gets what it should, run after run, captured or not") {
  const int count = GENERATE(2, 3, 4);
  const int64_t m = GENERATE(1, 5, 7, 9, 16, 61, 64);
  const int units = GENERATE(1, 3, 256);
  CAPTURE(count, m, units);
  fakes::reset();
  {
    Program program;
    ranks::use_tasks(program, kGather, count, m);
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
    const int64_t share = (m + count - 1) / count;
    const auto with_rows = static_cast<int>((m + share - 1) / share);
    CHECK(count_calls("wait_added ") == 7 * with_rows);
    CHECK(count_calls("announce ") == 7 * count * (program.plan.map.num_groups - 1));
    CHECK(count_calls("cudaMemcpyAsync user") == 0);
    all.destroy();
  }
  CHECK(world().live() == 0);
}

TEST_CASE("gather tasks: any number of rows in any order") {
  const int count = GENERATE(2, 3, 4);
  CAPTURE(count);
  fakes::reset();
  {
    Program program;
    program.plan.any_m = 1;
    ranks::use_tasks(program, kGather, count, 61);
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

TEST_CASE(
    "gather tasks: runs that do not overlap have none, whatever comes before and behind them") {
  fakes::reset();
  Program program;
  ranks::use_sequence_runs(program);
  ranks::use_tasks(program, kGather, 3, 61);
  Ranks all(program, 3);
  all.create();
  for (int round = 0; round < 3; ++round) {
    all.run(2);
    world().reset_calls();
    // What NCCL moves is not moved here, so nothing is compared.
    all.run_unchecked(2, 5);
    CHECK(world().nccl.size() > 0);
    CHECK(count_calls("wait_added") == 0);
    all.run_captured();
  }
  INFO(all.text());
  REQUIRE(all.all_ok());
  CHECK(all.wrong() == 0);
}

TEST_CASE("gather tasks: what the kernel is told of them, and where it reads") {
  fakes::reset();
  Program program;  // three ranks, 16 rows of 8 elements each; this is rank 1
  ranks::use_sequence_runs(program);
  ranks::use_tasks(program, kGather, 3, 48);
  program.plan.kernel.helper_bytes = helper_bytes_of(1);
  Setup setup;
  REQUIRE(setup.create(program) == TILEPOST_OK);
  CUstream_st* user = fakes::user_stream("user");
  REQUIRE(run_on(setup, user, 48) == TILEPOST_OK);
  const tilepost_view_t view = world().view;
  const auto* a = static_cast<const char*>(sample::operands().a);
  constexpr int64_t kRow = 8 * 2;
  REQUIRE(view.tasks.count == 1);
  const tilepost_task_t task = view.tasks.list[0];
  CHECK(task.from == 0);
  CHECK(task.to == 16 * kRow);
  CHECK(task.bytes == 16 * kRow);
  CHECK(task.push == -1);
  CHECK(task.parts == 1);
  CHECK(task.waits == -1);
  CHECK(task.counts == 0);
  CHECK(view.tasks.in == a);
  CHECK(view.tasks.stride == 0);
  CHECK(view.tasks.done != nullptr);
  CHECK(std::ranges::count_if(world().log, [](const std::string& line) {
          return line.rfind("wait_added", 0) == 0 && line.ends_with(" group 0 chunks 16");
        }) == 1);
  // The own rows at their places among all rows; all rows where the task copies them to.
  CHECK(world().a == a - 16 * kRow);
  REQUIRE(view.in_map != nullptr);
  CHECK(map_at(view.in_map).base == view.tasks.out);
  CHECK(map_at(view.in_map).columns == 8);
  CHECK(map_at(view.in_map).rows == 48);
  CHECK(world().maps.back().rfind("24x48", 0) == 0);                              // out
  CHECK(world().maps[world().maps.size() - 3].rfind("8x32 box 64x128", 0) == 0);  // a
  REQUIRE(run_on(setup, user, 5) == TILEPOST_OK);  // does not overlap
  CHECK(world().view.tasks.count == 0);
  // The kernel makes the map fit for use all the same.
  REQUIRE(world().view.in_map != nullptr);
  CHECK(world().a == view.tasks.out);
}

TEST_CASE("gather tasks: a rank without rows has none and announces at once") {
  fakes::reset();
  Program program;  // three ranks, the last of which has no rows
  ranks::use_tasks(program, kGather, 3, 4);
  Setup setup;
  REQUIRE(setup.create(program, 0, 2) == TILEPOST_OK);
  world().reset_calls();
  REQUIRE(run_on(setup, fakes::user_stream("user")) == TILEPOST_OK);
  CHECK(world().view.tasks.count == 0);
  CHECK(count_calls("wait_added") == 0);
  CHECK(count_calls("announce ") == 2);
  CHECK(count_calls("wait_announced ") == 2);
}

TEST_CASE("gather tasks: rows are announced when they are there, and nothing precedes the GEMM") {
  const bool captured = GENERATE(false, true);
  CAPTURE(captured);
  fakes::reset();
  Program program;  // 16 rows each: groups of the own ones, of 4, 4 and 8 of one other, and of 16
  ranks::use_tasks(program, kGather, 3, 48);
  const Order order = ranks::order_of_run(program, captured);
  constexpr int kArrivals = 4;
  REQUIRE(order.count("wait_added") == 1);
  REQUIRE(order.count("announce") == kArrivals);
  REQUIRE(order.count("wait_announced") == kArrivals);
  REQUIRE(order.count("post") == 1 + kArrivals);
  REQUIRE(order.count("cudaMemcpyAsync") == kArrivals + 1);  // groups, the caller's memory
  CHECK(count_calls("cudaMemcpyAsync user") == 0);
  CHECK(order.all_before("shared_begin", "gemm"));
  CHECK(order.all_before("shared_begin", "wait_added"));
  for (const char* call : {"wait_added", "announce", "wait_announced", "cudaMemcpyAsync", "post"}) {
    CAPTURE(call);
    CHECK_FALSE(order.before(call, 0, "gemm", 0));
    CHECK_FALSE(order.before("gemm", 0, call, 0));
    CHECK(order.all_before(call, "shared_end"));
    CHECK(order.joined(call));
  }
  for (int arrival = 0; arrival < kArrivals; ++arrival) {
    // Tiles may have own rows beside these. What this rank has for others waits for nobody.
    CHECK(order.before("wait_added", 0, "post", 1 + arrival));
    CHECK_FALSE(order.before("wait_added", 0, "cudaMemcpyAsync", arrival));
    CHECK(order.before("cudaMemcpyAsync", arrival, "announce", arrival));
    CHECK(order.before("wait_announced", arrival, "post", 1 + arrival));
    for (int other = 0; other < kArrivals; ++other)
      CHECK_FALSE(order.before("wait_announced", other, "announce", arrival));
    if (arrival > 0)
      CHECK(order.before("cudaMemcpyAsync", arrival - 1, "cudaMemcpyAsync", arrival));
  }
  // The others may store into what the GEMM has read.
  CHECK(order.all_before("gemm", "shared_end"));
  CHECK(order.joined("gemm"));
  CHECK(order.joined("shared_end") == captured);
}

TEST_CASE("gather tasks: own rows that lie in place are not written while the GEMM reads them") {
  fakes::reset();
  Program program;  // three ranks, 16 rows of 16 bytes each; this is rank 1
  ranks::use_tasks(program, kGather, 3, 48);
  Setup setup;
  REQUIRE(setup.create(program) == TILEPOST_OK);
  tilepost_run_operands_t operands = sample::operands();
  auto* all = reinterpret_cast<char*>(0x4000000 * 9);
  operands.gathered = all;
  operands.a = all + 16 * 16;
  world().reset_calls();
  REQUIRE(tilepost_op_run_with(setup.op, &operands, fakes::user_stream("user")) == TILEPOST_OK);
  std::vector<fakes::Copy> handed_out;
  for (const fakes::Copy& copy : world().copies)
    if (copy.to >= all && copy.to < all + 48 * 16) handed_out.push_back(copy);
  REQUIRE(handed_out.size() == 2);
  CHECK(handed_out[0].to == all);
  CHECK(handed_out[0].bytes == 16 * 16);
  CHECK(handed_out[1].to == all + 2 * 16 * 16);
  CHECK(handed_out[1].bytes == 16 * 16);
}

TEST_CASE("gather tasks: rows that are not copied are told within the deadline") {
  const bool captured = GENERATE(false, true);
  CAPTURE(captured);
  fakes::reset();
  Program program;
  ranks::use_tasks(program, kGather, 3, 48);
  Setup setup;
  REQUIRE(setup.create(program, 0.2) == TILEPOST_OK);
  CUstream_st* user = fakes::user_stream("user");
  fakes::stream_of(user).capturing = captured;
  world().gemm_stops = true;
  REQUIRE(run_on(setup, user) == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_TIMEOUT);
  CHECK_THAT(tilepost_last_error(),
             Contains(captured ? "rank 1: a replayed run: " : "rank 1: run 1: ") &&
                 Contains("group 1 of 5: this rank's rows were not copied within 0.2 s: 1 chunks "
                          "are missing"));
}

TEST_CASE("gather tasks: a rank that does not come is named within the deadline") {
  fakes::reset();
  Program program;
  ranks::use_tasks(program, kGather, 3, 48);
  Ranks all(program, 3, 0.2);
  all.create();
  all.run(2);
  REQUIRE(all.all_ok());
  all.run_but(1);
  // What rank 0 gets first comes from rank 1. Rank 2 gets rank 0's first, whose streams are one in
  // this world, so that rank 0 waits before it announces more.
  for (const auto& [rank, words] : {std::pair(0, "rank 1 did not announce group 2"),
                                    std::pair(2, "rank 0 did not announce group 3")}) {
    CHECK(all.at(rank).result == TILEPOST_TIMEOUT);
    CHECK_THAT(all.at(rank).text, Contains("run 3") && Contains(words));
  }
}

TEST_CASE("gather tasks: plans that cannot be are refused") {
  const auto refused = [](auto change) {
    return sample::is_incomplete([&](Program& program) {
      ranks::use_tasks(program, kGather, 2, 64);
      change(program.plan);
    });
  };
  CHECK_FALSE(refused([](tilepost_plan_t&) {}));
  CHECK(refused([](tilepost_plan_t& plan) { plan.task_parts = 2; }));
  CHECK(refused([](tilepost_plan_t& plan) { plan.k = 12; }));
  CHECK(refused([](tilepost_plan_t& plan) { plan.kernel.helper_bytes = 0; }));
  CHECK(refused([](tilepost_plan_t& plan) { plan.kernel.launch = TILEPOST_LAUNCH_POINTERS; }));
  CHECK(refused([](tilepost_plan_t& plan) {
    plan.transport = TILEPOST_TRANSPORT_NCCL;
    plan.access = TILEPOST_ACCESS_MESSAGES;
  }));
}

TEST_CASE(
    "gather tasks: a run that breaks off before it has begun changes nothing, later it ends all") {
  int calls = 0, broken_runs = 0;
  for (int n = 0; n <= calls; ++n) {
    fakes::reset();
    Program program;
    ranks::use_tasks(program, kGather, 2, 16);
    Setup setup;
    REQUIRE(setup.create(program) == TILEPOST_OK);
    CUstream_st* user = fakes::user_stream("user");
    world().reset_calls();
    world().fail_at = n;
    const auto result = run_on(setup, user);
    if (n == 0) calls = world().calls;
    INFO("call " << n << ": " << world().failed_call << ": " << tilepost_last_error());
    CHECK((result == TILEPOST_OK) == world().failed_call.empty());
    const bool begun =
        count_calls("shared_begin") > 0 && world().failed_call.rfind("shared_begin", 0) != 0;
    const bool broken = result != TILEPOST_OK && begun;
    broken_runs += broken;
    world().fail_at = 0;
    CHECK(tilepost_op_status(setup.op) == (broken ? result : TILEPOST_OK));
    CHECK(world().aborted_comms == (broken ? 1 : 0));
    CHECK_FALSE(fakes::stream_of(user).hang.holds());
  }
  CHECK(calls > 10);
  CHECK(broken_runs > 8);
}
