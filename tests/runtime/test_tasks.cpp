// Tasks: the kernel's helper warps add up, or move, what ranks have stored at their owner's.
#include "tests/catch.h"
#include "tests/runtime/ranks.h"
#include "tilepost/task_chunks.h"

using fakes::world;
using order::Order;
using ranks::Ranks;
using sample::count_calls;
using sample::Program;
using sample::run_on;
using sample::Setup;

namespace {

constexpr auto kWrite = TILEPOST_ACCESS_WRITE;
constexpr auto kAllReduce = TILEPOST_GEMM_ALL_REDUCE;
constexpr auto kReduceScatter = TILEPOST_GEMM_REDUCE_SCATTER;
constexpr auto kAllToAll = TILEPOST_GEMM_ALL_TO_ALL;

// Chunks that a group has several of.
int small_helper(int parts) {
  return tilepost::kTaskBarriers + tilepost::kTaskBuffers * parts * 2 * tilepost::kTaskUnit;
}

}  // namespace

TEST_CASE("tasks: every rank gets what it should, run after run, captured or not") {
  const int count = GENERATE(2, 3, 4);
  const int64_t m = GENERATE(1, 7, 16, 61, 64);
  const auto pattern = GENERATE(kAllReduce, kReduceScatter, kAllToAll);
  const int stagger = GENERATE(0, 4);
  const bool small = GENERATE(false, true);
  CAPTURE(count, m, static_cast<int>(pattern), stagger, small);
  fakes::reset();
  {
    Program program;
    program.plan.map.stagger = stagger;
    ranks::use_tasks(program, pattern, count, m);
    if (small) program.plan.kernel.helper_bytes = small_helper(program.plan.task_parts);
    Ranks all(program, count);
    all.create();
    INFO(all.text());
    REQUIRE(all.all_ok());
    world().reset_calls();
    all.run_mixed();
    INFO(all.text());
    REQUIRE(all.all_ok());
    CHECK(all.wrong() == 0);
    CHECK(count_calls("sum ") == 0);
    CHECK(count_calls("wait_stored ") == 0);
    CHECK(count_calls("wait_added ") == 0);
    CHECK(count_calls("announce") == 0);
    CHECK(count_calls("cudaMemcpyAsync user") == 0);
    all.destroy();
  }
  CHECK(world().live() == 0);
}

TEST_CASE("tasks: any number of rows in any order") {
  const auto pattern = GENERATE(kAllReduce, kReduceScatter, kAllToAll);
  CAPTURE(static_cast<int>(pattern));
  fakes::reset();
  {
    Program program;
    program.plan.any_m = 1;
    ranks::use_tasks(program, pattern, 3, 61);
    program.plan.kernel.helper_bytes = small_helper(program.plan.task_parts);
    Ranks all(program, 3);
    all.create();
    for (int64_t m = 1; m <= 61; m += 2) all.run(2, m);
    for (int64_t m = 61; m >= 1; m -= 5) all.run(1, m);
    INFO(all.text());
    REQUIRE(all.all_ok());
    CHECK(all.wrong() == 0);
    all.destroy();
  }
  CHECK(world().live() == 0);
}

TEST_CASE("tasks: runs that do not overlap have none, whatever comes before and behind them") {
  const auto pattern = GENERATE(kAllReduce, kReduceScatter, kAllToAll);
  CAPTURE(static_cast<int>(pattern));
  fakes::reset();
  Program program;
  ranks::use_sequence_runs(program);
  ranks::use_tasks(program, pattern, 3, 61);
  Ranks all(program, 3);
  all.create();
  for (int round = 0; round < 3; ++round) {
    all.run(2);
    world().reset_calls();
    all.run_unchecked(1, 5);
    CHECK(count_calls("shared_") == 0);
  }
  INFO(all.text());
  REQUIRE(all.all_ok());
  CHECK(all.wrong() == 0);
}

TEST_CASE("tasks: a consumer reads what they have made") {
  fakes::reset();
  Program program;
  program.plan.consumer = TILEPOST_CONSUMER_RMS_NORM;
  ranks::use_tasks(program, kAllReduce, 3, 61);
  Ranks all(program, 3);
  all.create();
  all.run(3);
  INFO(all.text());
  REQUIRE(all.all_ok());
  CHECK(all.normalised() == 3 * 3 * 61 * 24);
  CHECK(all.wrong() == 0);
}

TEST_CASE("tasks: what the kernel is told of them") {
  const auto pattern = GENERATE(kAllReduce, kReduceScatter, kAllToAll);
  CAPTURE(static_cast<int>(pattern));
  fakes::reset();
  Program program;  // three ranks, 16 rows each, in three groups
  ranks::use_sequence_runs(program);
  ranks::use_tasks(program, pattern, 3, 48);
  Setup setup;
  REQUIRE(setup.create(program) == TILEPOST_OK);
  CUstream_st* user = fakes::user_stream("user");
  REQUIRE(run_on(setup, user, 48) == TILEPOST_OK);
  const tilepost_tasks_t tasks = world().view.tasks;
  REQUIRE(tasks.count == (pattern == kReduceScatter ? 3 : 9));
  CHECK(tasks.out == sample::operands().out);
  CHECK(tasks.done == nullptr);
  CHECK((tasks.there != nullptr) == (pattern == kAllReduce));
  CHECK(tasks.rank == 1);
  CHECK(tasks.ranks == 3);
  CHECK(tasks.stride == (pattern == kAllToAll ? 0 : 16 * 24 * 2));
  int64_t summed = 0, moved = 0;
  for (int i = 0; i < tasks.count; ++i) {
    const tilepost_task_t& task = tasks.list[i];
    const bool sums = task.parts == 3;
    CHECK((sums || task.parts == 1));
    CHECK((task.push >= 0) == (sums && pattern == kAllReduce));
    if (task.push >= 0) CHECK(task.push == task.to);
    CHECK(task.from % tilepost::kTaskUnit == 0);
    CHECK(task.to % tilepost::kTaskUnit == 0);
    (sums ? summed : moved) += task.bytes;
  }
  constexpr int64_t kShare = 16 * 24 * 2;
  CHECK(summed == (pattern == kAllToAll ? 0 : kShare));
  CHECK(moved == (pattern == kAllToAll ? 3 : pattern == kAllReduce ? 2 : 0) * kShare);
  REQUIRE(run_on(setup, user, 5) == TILEPOST_OK);  // does not overlap
  CHECK(world().view.tasks.count == 0);
}

TEST_CASE(
    "tasks: what has landed is moved behind the next group's sums, and waits for all pushes") {
  fakes::reset();
  Program program;  // three ranks, 16 rows each, in three groups of 4, 4 and 8 rows
  ranks::use_tasks(program, kAllReduce, 3, 48);
  Setup setup;
  REQUIRE(setup.create(program) == TILEPOST_OK);
  REQUIRE(run_on(setup, fakes::user_stream("user")) == TILEPOST_OK);
  const tilepost_tasks_t tasks = world().view.tasks;
  std::vector<int> waits, counts;
  for (int i = 0; i < tasks.count; ++i) {
    waits.push_back(tasks.list[i].waits);
    if (tasks.list[i].push >= 0) counts.push_back(tasks.list[i].counts);
  }
  // Counters 0 to 2 are the groups', 3 to 5 those of their sums.
  CHECK(waits == std::vector<int>{0, 1, 3, 3, 2, 4, 4, 5, 5});
  CHECK(counts == std::vector<int>{3, 4, 5});
  const int chunk = tilepost::task_chunk_bytes(program.plan.kernel.helper_bytes, 3);
  for (int g = 0; g < 3; ++g)
    CHECK(tasks.expected[3 + g] ==
          2u * static_cast<uint32_t>(tilepost::task_chunks((g == 2 ? 8 : 4) * 24 * 2, chunk)));
}

TEST_CASE("tasks: where sums are added on their way, kernels hand them on") {
  fakes::reset();
  Program program;
  program.plan.sum = TILEPOST_SUM_ADDED;
  ranks::use_shared(program, kWrite, kReduceScatter, 3, 48);
  const Order order = ranks::order_of_run(program, false);
  CHECK(world().view.tasks.count == 0);
  CHECK(order.count("sum") == 3);
}

TEST_CASE("tasks: the run ends with the GEMM") {
  const auto pattern = GENERATE(kAllReduce, kReduceScatter, kAllToAll);
  const bool captured = GENERATE(false, true);
  CAPTURE(static_cast<int>(pattern), captured);
  fakes::reset();
  Program program;
  ranks::use_tasks(program, pattern, 3, 48);
  const Order order = ranks::order_of_run(program, captured);
  CHECK(order.all_before("shared_begin", "gemm"));
  CHECK(order.all_before("gemm", "shared_end"));
  CHECK(order.joined("gemm"));
  CHECK(order.joined("shared_end") == captured);
  for (const char* call : {"sum", "wait", "wait_stored", "wait_added", "announce"})
    CHECK(order.count(call) == 0);
  if (captured) CHECK(order.all_before("replay_begin", "gemm"));
  if (captured) CHECK(order.all_before("shared_end", "replay_end"));
}

TEST_CASE("tasks: a consumer comes behind the GEMM, and the run's end behind it") {
  fakes::reset();
  Program program;
  program.plan.consumer = TILEPOST_CONSUMER_RMS_NORM;
  ranks::use_tasks(program, kReduceScatter, 3, 48);
  const Order order = ranks::order_of_run(program, false);
  CHECK(order.all_before("gemm", "norm"));
  CHECK(order.joined("norm"));
  CHECK(order.all_before("gemm", "shared_end"));
  CHECK(world().view.tasks.out != sample::operands().out);
}
