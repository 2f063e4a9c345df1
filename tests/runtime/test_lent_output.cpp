// Outputs in memory of the operation, where the other ranks store their sums.
#include "runtime/schedule/run_map.h"
#include "tests/catch.h"
#include "tests/runtime/pushers.h"

using fakes::world;
using ranks::Ranks;
using sample::Program;

namespace {

constexpr ranks::Way kTasks = ranks::tasks(kAllReduce);

// The memory that the operation lends for an output, or null.
void* lent_by(const Operation& op) {
  tilepost_op_info_t info{};
  info.out = &info;  // get_info must set it, whether or not there is memory
  REQUIRE(tilepost_op_get_info(op.setup.op, &info) == TILEPOST_OK);
  return info.out;
}

tilepost_result_t run_to(const Operation& op, void* out) {
  tilepost_run_operands_t values = sample::operands();
  values.out = out;
  return op.run_with(values);
}

const char* destination(const tilepost_tasks_t& tasks, const tilepost_task_t& task) {
  return static_cast<char*>(tasks.out) + task.to;
}

const char* source(const tilepost_tasks_t& tasks, const tilepost_task_t& task) {
  return static_cast<const char*>(tasks.in) + task.from;
}

}  // namespace

TEST_CASE("lent output: only ranks that push their sums to each other lend memory") {
  const auto lends = [](auto make) {
    Operation op;
    make(op.program);
    op.create();
    return lent_by(op) != nullptr;
  };
  const auto by = [](const ranks::Way& way, int count) {
    return [=](Program& program) { ranks::use(program, way, count, 48); };
  };
  CHECK(lends(by(kTasks, 2)));
  CHECK(lends(by(kTasks, 3)));
  CHECK(lends([](Program& program) {
    program.plan.any_m = 1;
    ranks::use(program, kTasks, 3, 61);
  }));
  for (const ranks::Way& way :
       {ranks::tasks(TILEPOST_GEMM_REDUCE_SCATTER), ranks::tasks(TILEPOST_GEMM_ALL_TO_ALL),
        ranks::tasks(TILEPOST_ALL_GATHER_GEMM), ranks::pushed_rows(), ranks::copies(kAllReduce),
        ranks::stores(kAllReduce)}) {
    CAPTURE(way);
    CHECK_FALSE(lends(by(way, 3)));
  }
  CHECK_FALSE(lends([](Program&) {}));  // nccl
  CHECK_FALSE(lends([](Program& program) { program.use_sequence(4); }));
  for (const auto consumer : {TILEPOST_CONSUMER_RMS_NORM, TILEPOST_CONSUMER_RESIDUAL_RMS_NORM})
    CHECK_FALSE(lends([=](Program& program) {
      program.plan.consumer = consumer;
      ranks::use(program, kTasks, 3, 48);
    }));
}

TEST_CASE_METHOD(Operation, "lent output: what lands is in place, elsewhere it is moved") {
  ranks::use(program, kTasks, 3, 48);
  create();
  void* const own = lent_by(*this);
  REQUIRE(own != nullptr);
  CHECK(reinterpret_cast<uintptr_t>(own) % 16 == 0);
  for (const bool lent : {true, false, true}) {
    void* out = lent ? own : sample::operands().out;
    REQUIRE(run_to(*this, out) == TILEPOST_OK);
    const tilepost_tasks_t tasks = world().view.tasks;
    CHECK(tasks.out == out);
    REQUIRE(tasks.count == 9);
    for (int i = 0; i < tasks.count; ++i) {
      const tilepost_task_t& task = tasks.list[i];
      const bool in_place = source(tasks, task) == destination(tasks, task);
      CHECK(in_place == (lent && task.parts == 1));
      // Another rank's memory is laid out as this rank's, so a push lands there at the same place.
      if (task.push >= 0 && lent)
        CHECK(destination(tasks, task) == static_cast<const char*>(tasks.there[1]) + task.push);
    }
  }
  // The lent output needs no further memory, and a run's memory is as large as its output.
  CHECK(tilepost::most_sizes(program.plan).landed == 48 * 24);
}

TEST_CASE_METHOD(
    Team, "lent output: every rank gets what it should, in runs that overlap and in the others") {
  const int count = GENERATE(2, 3, 4);
  CAPTURE(count);
  program.use_any_m();
  ranks::use(program, kTasks, count, 61);
  Ranks& all = create(count);
  REQUIRE(all.at(0).lent != nullptr);
  for (int round = 0; round < 4; ++round) {
    all.run(3);
    all.run_captured();
    all.run_unchecked(1, 5);  // the fakes execute no reduction
    all.run(2);
  }
  check();
}

TEST_CASE("lent output: a consumer reads what has landed, and nothing is kept beside it") {
  const auto consumer = GENERATE(TILEPOST_CONSUMER_RMS_NORM, TILEPOST_CONSUMER_RESIDUAL_RMS_NORM);
  const auto bytes_of = [&](tilepost_consumer_t which, bool sequences) {
    Operation op;
    op.program.plan.consumer = which;
    if (sequences) op.program.use_any_m();
    ranks::use(op.program, kTasks, 3, 48);
    CHECK(tilepost::most_sizes(op.program.plan).receive == 0);
    CHECK(tilepost::make_run_map(op.program.plan, 1, 48)->sizes.receive == 0);
    op.create();
    return op.info().device_bytes;
  };
  for (const bool sequences : {false, true})
    CHECK(bytes_of(consumer, sequences) + pushers::registering_bytes(3) ==
          bytes_of(TILEPOST_CONSUMER_NONE, sequences));

  Operation op;
  op.program.plan.consumer = consumer;
  op.program.use_any_m();
  ranks::use(op.program, kTasks, 3, 48);
  op.create();
  REQUIRE(op.run() == TILEPOST_OK);
  const tilepost_tasks_t tasks = world().view.tasks;
  for (int i = 0; i < tasks.count; ++i)
    if (tasks.list[i].parts == 1)
      CHECK(source(tasks, tasks.list[i]) == destination(tasks, tasks.list[i]));
  REQUIRE(op.run(5) == TILEPOST_OK);  // a run of 5 rows does not overlap
}
