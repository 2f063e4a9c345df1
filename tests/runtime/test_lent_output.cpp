// An output that is made where the other ranks push it, in memory of the operation.
#include "runtime/map/run_map.h"
#include "tests/catch.h"
#include "tests/runtime/ranks.h"

using Catch::Contains;
using fakes::world;
using ranks::Ranks;
using sample::Program;
using sample::Setup;

namespace {

constexpr auto kAllReduce = TILEPOST_GEMM_ALL_REDUCE;

tilepost_op_info_t info_of(const Setup& setup) {
  tilepost_op_info_t info{};
  info.out = &info;  // get_info says something of it either way
  REQUIRE(tilepost_op_get_info(setup.op, &info) == TILEPOST_OK);
  return info;
}

tilepost_result_t run_to(const Setup& setup, void* out, int64_t m = 0) {
  tilepost_run_operands_t values = sample::operands();
  values.out = out;
  values.m = m;
  return tilepost_op_run_with(setup.op, &values, fakes::user_stream("user"));
}

const char* destination(const tilepost_tasks_t& tasks, const tilepost_task_t& task) {
  return static_cast<char*>(tasks.out) + task.to;
}

const char* source(const tilepost_tasks_t& tasks, const tilepost_task_t& task) {
  return static_cast<const char*>(tasks.in) + task.from;
}

}  // namespace

TEST_CASE("own out: only ranks that push their sums to each other lend memory") {
  const auto lends = [](auto make) {
    fakes::reset();
    Program program;
    make(program);
    Setup setup;
    REQUIRE(setup.create(program) == TILEPOST_OK);
    return info_of(setup).out != nullptr;
  };
  const auto with_tasks = [](tilepost_pattern_t pattern, int ranks) {
    return [=](Program& program) { ranks::use_tasks(program, pattern, ranks, 48); };
  };
  CHECK(lends(with_tasks(kAllReduce, 2)));
  CHECK(lends(with_tasks(kAllReduce, 3)));
  CHECK(lends([](Program& program) {
    program.plan.any_m = 1;
    ranks::use_tasks(program, kAllReduce, 3, 61);
  }));
  CHECK_FALSE(lends(with_tasks(TILEPOST_GEMM_REDUCE_SCATTER, 3)));
  CHECK_FALSE(lends(with_tasks(TILEPOST_GEMM_ALL_TO_ALL, 3)));
  CHECK_FALSE(lends(with_tasks(TILEPOST_ALL_GATHER_GEMM, 3)));
  CHECK_FALSE(lends([](Program& program) { ranks::use_pushed_rows(program, 3, 48); }));
  for (const auto access : {TILEPOST_ACCESS_READ, TILEPOST_ACCESS_WRITE})
    CHECK_FALSE(
        lends([=](Program& program) { ranks::use_shared(program, access, kAllReduce, 3, 48); }));
  CHECK_FALSE(lends([](Program&) {}));  // nccl
  CHECK_FALSE(lends([](Program& program) { program.use_sequence(4); }));
  for (const auto consumer : {TILEPOST_CONSUMER_RMS_NORM, TILEPOST_CONSUMER_RESIDUAL_RMS_NORM})
    CHECK_FALSE(lends([=](Program& program) {
      program.plan.consumer = consumer;
      ranks::use_tasks(program, kAllReduce, 3, 48);
    }));
}

TEST_CASE("own out: what lands is in place, elsewhere it is moved") {
  fakes::reset();
  Program program;
  ranks::use_tasks(program, kAllReduce, 3, 48);
  Setup setup;
  REQUIRE(setup.create(program) == TILEPOST_OK);
  const tilepost_op_info_t info = info_of(setup);
  REQUIRE(info.out != nullptr);
  CHECK(reinterpret_cast<uintptr_t>(info.out) % 16 == 0);
  for (const bool lent : {true, false, true}) {
    void* out = lent ? info.out : sample::operands().out;
    REQUIRE(run_to(setup, out) == TILEPOST_OK);
    const tilepost_tasks_t tasks = world().view.tasks;
    CHECK(tasks.out == out);
    REQUIRE(tasks.count == 9);
    for (int i = 0; i < tasks.count; ++i) {
      const tilepost_task_t& task = tasks.list[i];
      const bool in_place = source(tasks, task) == destination(tasks, task);
      CHECK(in_place == (lent && task.parts == 1));
      // Pushes land in the others' where this rank has the rows in its own.
      if (task.push >= 0 && lent)
        CHECK(destination(tasks, task) == static_cast<const char*>(tasks.there[1]) + task.push);
    }
  }
  // Nothing more is allocated for it, and a run's memory is as large as its output.
  CHECK(tilepost::most_sizes(program.plan).landed == 48 * 24);
}

TEST_CASE("own out: every rank gets what it should, in runs that overlap and in the others") {
  const int count = GENERATE(2, 3, 4);
  CAPTURE(count);
  fakes::reset();
  Program program;
  ranks::use_sequence_runs(program);
  ranks::use_tasks(program, kAllReduce, count, 61);
  Ranks all(program, count);
  all.create();
  REQUIRE(all.at(0).lent != nullptr);
  for (int round = 0; round < 4; ++round) {
    all.run(3);
    all.run_captured();
    all.run_unchecked(1, 5);  // the fakes reduce nothing
    all.run(2);
  }
  INFO(all.text());
  REQUIRE(all.all_ok());
  CHECK(all.wrong() == 0);
}

TEST_CASE("own out: a consumer reads what has landed, and nothing is kept beside it") {
  const auto consumer = GENERATE(TILEPOST_CONSUMER_RMS_NORM, TILEPOST_CONSUMER_RESIDUAL_RMS_NORM);
  const auto bytes_of = [&](tilepost_consumer_t which, bool sequences) {
    fakes::reset();
    Program program;
    program.plan.consumer = which;
    if (sequences) ranks::use_sequence_runs(program);
    ranks::use_tasks(program, kAllReduce, 3, 48);
    CHECK(tilepost::most_sizes(program.plan).receive == 0);
    CHECK(tilepost::make_run_map(program.plan, 1, 48)->sizes.receive == 0);
    Setup setup;
    REQUIRE(setup.create(program) == TILEPOST_OK);
    return info_of(setup).device_bytes;
  };
  for (const bool sequences : {false, true})
    CHECK(bytes_of(consumer, sequences) == bytes_of(TILEPOST_CONSUMER_NONE, sequences));

  fakes::reset();
  Program program;
  program.plan.consumer = consumer;
  ranks::use_sequence_runs(program);
  ranks::use_tasks(program, kAllReduce, 3, 48);
  Setup setup;
  REQUIRE(setup.create(program) == TILEPOST_OK);
  REQUIRE(run_to(setup, sample::operands().out) == TILEPOST_OK);
  const tilepost_tasks_t tasks = world().view.tasks;
  for (int i = 0; i < tasks.count; ++i)
    if (tasks.list[i].parts == 1)
      CHECK(source(tasks, tasks.list[i]) == destination(tasks, tasks.list[i]));
  REQUIRE(run_to(setup, sample::operands().out, 5) == TILEPOST_OK);  // does not overlap
}

TEST_CASE("own out: the run does not end before all has landed, and says what has not") {
  fakes::reset();
  Program program;
  ranks::use_tasks(program, kAllReduce, 3, 48);
  Ranks all(program, 3, 0.2);
  all.create();
  all.run(3);
  REQUIRE(all.all_ok());
  world().pushes_stop = true;
  all.run_but(-1);
  for (const int rank : {0, 1, 2}) {
    REQUIRE(all.at(rank).found == all.at(rank).lent);
    CHECK(all.at(rank).result == TILEPOST_TIMEOUT);
    CHECK_THAT(all.at(rank).text, Contains("run 4: group 1 of 3: not all ranks' sums were stored "
                                           "within 0.2 s: 2 signals are missing"));
  }
}
