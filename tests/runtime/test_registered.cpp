// Runs with outputs that the ranks have registered.
#include "runtime/cuda/watch/watch_page.h"
#include "tests/runtime/pushers.h"

using Catch::Contains;
using fakes::world;
using pushers::check_all;
using pushers::kM;
using pushers::kTasks;
using pushers::Pushers;
using ranks::Rank;
using ranks::Ranks;
using ranks::Registered;
using sample::Program;

TEST_CASE_METHOD(Pushers, "registered: every rank gets what it should in all kinds of runs") {
  const int count = GENERATE(2, 3, 4);
  const bool processes = GENERATE(false, true);
  const auto way = GENERATE(kTasks, pushers::kFused, pushers::kTiles);
  CAPTURE(count, processes, way);
  Ranks& all = create_pushers(count, processes, 5, way);
  const int before = world().live_mappings;
  all.register_output(kM);
  check(all);
  CHECK(world().live_mappings - before == (processes ? count * (count - 1) : 0));
  CHECK(world().accessible.empty() == processes);
  for (int round = 0; round < 2; ++round) {
    all.run_mixed();
    all.run(6, 35);
    all.run(2, 1);
    all.register_output(kM);
    all.run_mixed();
    check(all);
  }
  all.unregister_outputs();
  check(all);
  CHECK(world().live_mappings == before);
  all.run_mixed();
  all.register_output(40);
  all.run(6, 40);
  check(all);
}

TEST_CASE_METHOD(Pushers, "registered: buffers in one allocation are apart") {
  const bool processes = GENERATE(false, true);
  Ranks& all = create_pushers(3, processes, 5, GENERATE(kTasks, pushers::kFused, pushers::kTiles));
  const int before = world().live_mappings;
  const auto opened = [&] { return world().live_mappings - before; };
  all.register_output(kM, 2);
  check(all);
  CHECK(opened() == (processes ? 2 * 3 * 2 : 0));  // CUDA counts every opening
  all.run_mixed();
  all.run(6, 35);
  check(all);
  all.on_all([](int, Rank& mine) {
    mine.result = tilepost_op_unregister(mine.setup.op, mine.registered[0]->data());
    mine.registered.erase(mine.registered.begin());
  });
  CHECK(opened() == (processes ? 3 * 2 : 0));
  all.run_mixed();
  check(all);
  all.unregister_outputs();
  check(all);
  CHECK(opened() == 0);
}

// The graph keeps a pointer to the table with the addresses of the buffers.
TEST_CASE_METHOD(Operation, "registered: a graph keeps its buffer when others come and go") {
  ranks::use(program, kTasks, 3, 48);
  create();
  std::vector<std::unique_ptr<Registered>> buffers;
  const auto add = [&] {
    Registered& fresh = *buffers.emplace_back(std::make_unique<Registered>(0, 48 * 24));
    REQUIRE(tilepost_op_register(setup.op, fresh.data(), fresh.bytes()) == TILEPOST_OK);
  };
  const auto tasks_of_run = [&](Registered& out) {
    tilepost_run_operands_t values = sample::operands();
    values.out = out.data();
    REQUIRE(run_with(values) == TILEPOST_OK);
    return world().view.tasks;
  };
  add();
  tilepost_tasks_t captured{};
  {
    const fakes::Capture capture(user);
    captured = tasks_of_run(*buffers[0]);
  }
  const auto check_captured = [&] {
    for (int rank = 0; rank < 3; ++rank)
      CHECK(captured.there[rank] == static_cast<void*>(buffers[0]->data()));
  };
  for (int i = 0; i < 3; ++i) add();
  check_captured();
  REQUIRE(tilepost_op_unregister(setup.op, buffers[2]->data()) == TILEPOST_OK);
  buffers.erase(buffers.begin() + 2);
  add();
  check_captured();
  for (size_t i = 0; i < buffers.size(); ++i)
    CHECK((tasks_of_run(*buffers[i]).there == captured.there) == (i == 0));
  check_captured();
}

TEST_CASE_METHOD(Operation, "registered: what lands is left, where other ranks were told") {
  ranks::use(program, kTasks, 3, 48);
  create();
  Registered buffer(0, 48 * 24);
  const int64_t bytes = info().device_bytes;
  REQUIRE(tilepost_op_register(setup.op, buffer.data(), buffer.bytes()) == TILEPOST_OK);
  CHECK(info().device_bytes == bytes);
  for (const bool registered : {true, false, true}) {
    tilepost_run_operands_t values = sample::operands();
    if (registered) values.out = buffer.data();
    for (const bool captured : {false, true}) {
      const fakes::Capture capture(user, captured);
      REQUIRE(run_with(values) == TILEPOST_OK);
      const tilepost_tasks_t tasks = world().view.tasks;
      CHECK(tasks.out == values.out);
      for (int rank = 0; rank < 3; ++rank)
        CHECK((tasks.there[rank] == static_cast<void*>(buffer.data())) == registered);
    }
  }
  REQUIRE(tilepost_op_unregister(setup.op, buffer.data()) == TILEPOST_OK);
  CHECK(info().device_bytes == bytes);
}

TEST_CASE_METHOD(Operation,
                 "registered: an out that was freed, is inside, or is larger is refused") {
  program.plan.any_m = 1;
  ranks::use(program, kTasks, 3, kM);
  create();
  Registered buffer(0, 40 * 24);
  REQUIRE(tilepost_op_register(setup.op, buffer.data(), buffer.bytes()) == TILEPOST_OK);
  const auto run_to = [&](void* out, int64_t m) {
    tilepost_run_operands_t values = sample::operands();
    values.out = out;
    values.m = m;
    return run_with(values);
  };
  CHECK(run_to(buffer.data(), 40) == TILEPOST_OK);
  CHECK(run_to(buffer.data() + 40 * 24, 40) == TILEPOST_OK);  // in the second half of the buffer
  CHECK(run_to(buffer.data() + 8, 35) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("out lies 16 bytes into the buffer"));
  CHECK(run_to(buffer.data(), 41) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("the output has 1968 bytes, and 1920 are registered"));
  const bool replaced = GENERATE(false, true);
  buffer.free(replaced);
  CHECK(run_to(buffer.data(), 40) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("lies in memory that was freed after it had been"));
  REQUIRE(tilepost_op_unregister(setup.op, buffer.data()) == TILEPOST_OK);
  CHECK(run_to(buffer.data(), 40) == TILEPOST_OK);
}

TEST_CASE_METHOD(Operation, "registered: runs in sequence write it like any other memory") {
  program.use_any_m();
  ranks::use(program, kTasks, 3, kM);
  create();
  Registered buffer(0, kM * 24);
  REQUIRE(tilepost_op_register(setup.op, buffer.data(), buffer.bytes()) == TILEPOST_OK);
  tilepost_run_operands_t values = sample::operands();
  values.m = 5;
  for (uint16_t* out : {buffer.data(), buffer.data() + 8}) {
    values.out = out;
    CHECK(run_with(values) == TILEPOST_OK);
    CHECK(world().view.tasks.count == 0);
  }
}

TEST_CASE_METHOD(Pushers, "registered: a rank that passes another out ends the run on all ranks") {
  const bool none = GENERATE(false, true);
  leaves_memory();
  Ranks& all = create_pushers(3, false, 0.3);
  all.register_output(kM);
  all.register_output(kM);
  check(all);
  // Keeps the buffers, because the other ranks store there.
  std::vector<std::unique_ptr<Registered>> kept;
  all.on_all([&](int rank, Rank& mine) {
    ranks::self().run = 1;  // the run after the first one
    if (rank == 1 && none) mine.registered.swap(kept);
    if (rank == 1 && !none) std::swap(mine.registered[0], mine.registered[1]);
    if (all.start(mine, kM) == TILEPOST_OK) mine.result = tilepost_op_synchronize(mine.setup.op);
    mine.text = tilepost_last_error();
  });
  const std::string other = none ? "no registered buffer" : "registered buffer 1";
  check_all(all, TILEPOST_INVALID_ARGUMENT, 1,
            "out is registered buffer 2 on rank 0 and " + other + " on rank 1",
            "out is " + other + " on rank 1 and registered buffer 2 on rank ");
}

TEST_CASE_METHOD(Operation, "registered: ranks compare the outs of replayed graphs on the device") {
  leaves_memory();
  ranks::use(program, kTasks, 3, 48);
  create(0.3);
  Registered buffer(0, 48 * 24);
  REQUIRE(tilepost_op_register(setup.op, buffer.data(), buffer.bytes()) == TILEPOST_OK);
  tilepost_run_operands_t values = sample::operands();
  values.out = buffer.data();
  world().edit_run = [](int rank, tilepost::cuda::RunWords& words) {
    words.output = rank == 2 ? 0 : words.output;
  };
  {
    const fakes::Capture capture(user);
    REQUIRE(run_with(values) == TILEPOST_OK);
  }
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(),
             Contains("out is no registered buffer on rank 2 and registered buffer 1 on rank 1"));
}
