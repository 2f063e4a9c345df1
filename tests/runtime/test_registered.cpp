// Outputs of the caller's into which the other ranks store.
#include <chrono>
#include <span>

#include "runtime/core/registration.h"
#include "runtime/cuda/shared/peer_info.h"
#include "runtime/cuda/watch/watch_page.h"
#include "tests/catch.h"
#include "tests/runtime/team.h"

using Catch::Contains;
using fakes::world;
using ranks::Rank;
using ranks::Ranks;
using ranks::Registered;
using sample::Program;
using tilepost::cuda::kPeerInfoNumbers;
using tilepost::cuda::PeerInfo;

namespace {

constexpr ranks::Way kTasks = ranks::tasks(kAllReduce);
constexpr int64_t kM = 61;

// Ranks whose sums are pushed; as threads of one process, or as if each were one of its own.
class Pushers : public Team {
 public:
  Ranks& create_pushers(int count, bool processes, double deadline_seconds = 5) {
    program.plan.any_m = 1;
    ranks::use(program, kTasks, count, kM);
    if (!processes) return create(count, deadline_seconds);
    Ranks* all = nullptr;
    world().num_devices = count;
    edited_ = [&](PeerInfo& info) { info.process[1] += info.ordinal + 1; };
    // Ranks sets the exchange; what it brings is edited on its way.
    fakes::world().comm_ranks = count;
    made_ = std::make_unique<Ranks>(program, count, deadline_seconds);
    world().exchange = [this, meet = world().exchange](const int64_t* from, int64_t* to, size_t n) {
      std::vector<int64_t> told(from, from + n);
      if (n == kPeerInfoNumbers || n == kPeerInfoNumbers + tilepost::kRegistrationNumbers + 1)
        edited_(*reinterpret_cast<PeerInfo*>(told.data() + n - kPeerInfoNumbers));
      meet(told.data(), to, n);
    };
    all = made_.get();
    all->create();
    check(*all);
    return *all;
  }
  ~Pushers() noexcept(false) {
    if (made_ != nullptr) made_->destroy();
  }
  static void check(const Ranks& all) {
    INFO(all.text());
    REQUIRE(all.all_ok());
    CHECK(all.wrong() == 0);
  }

 private:
  std::function<void(PeerInfo&)> edited_;
  std::unique_ptr<Ranks> made_;
};

// What every rank's call returned, and that its text has these words.
void check_all(Ranks& all, tilepost_result_t result, int refused, const std::string& own,
               const std::string& others) {
  for (int rank = 0; rank < all.count(); ++rank) {
    CAPTURE(rank);
    CHECK(all.at(rank).result == result);
    CHECK_THAT(all.at(rank).text, Contains(rank == refused ? own : others));
    all.at(rank).result = TILEPOST_OK;
  }
}

}  // namespace

TEST_CASE_METHOD(Pushers, "registered: every rank gets what it should in all kinds of runs") {
  const int count = GENERATE(2, 3, 4);
  const bool processes = GENERATE(false, true);
  CAPTURE(count, processes);
  Ranks& all = create_pushers(count, processes);
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

TEST_CASE_METHOD(Operation, "registered: what lands is left, where other ranks were told") {
  ranks::use(program, kTasks, 3, 48);
  create();
  Registered buffer(0, 48 * 24);
  const int64_t bytes = info().device_bytes;
  REQUIRE(tilepost_op_register(setup.op, buffer.data(), buffer.bytes()) == TILEPOST_OK);
  CHECK(info().device_bytes == bytes + 3 * int64_t{sizeof(void*)});
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

TEST_CASE("registered: plans whose ranks push no sums say so, and wait for nobody") {
  const auto refuses = [](auto make) {
    Operation op;
    make(op.program);
    op.create();
    Registered buffer(0, 1 << 16);
    world().exchange = [](const int64_t*, int64_t*, size_t) { FAIL("nothing is told"); };
    CHECK(tilepost_op_register(op.setup.op, buffer.data(), buffer.bytes()) == TILEPOST_UNSUPPORTED);
    CHECK_THAT(tilepost_last_error(), Contains("'sample': ranks store nothing in each other's"));
    CHECK(tilepost_op_unregister(op.setup.op, buffer.data()) == TILEPOST_UNSUPPORTED);
  };
  for (const ranks::Way& way :
       {ranks::tasks(TILEPOST_GEMM_REDUCE_SCATTER), ranks::tasks(TILEPOST_GEMM_ALL_TO_ALL),
        ranks::pushed_rows(), ranks::copies(kAllReduce), ranks::stores(kAllReduce)}) {
    CAPTURE(way);
    refuses([&](Program& program) { ranks::use(program, way, 3, 48); });
  }
  refuses([](Program&) {});  // nccl
  refuses([](Program& program) {
    program.plan.consumer = TILEPOST_CONSUMER_RMS_NORM;
    ranks::use(program, kTasks, 3, 48);
  });
}

TEST_CASE_METHOD(Pushers, "registered: what one rank passes wrongly all are told of, and go on") {
  const bool processes = GENERATE(false, true);
  Ranks& all = create_pushers(3, processes);
  constexpr size_t kElements = kM * 24;
  const struct {
    std::function<void(Registered&, void*&, int64_t&)> edit;
    tilepost_result_t result;
    const char* own;
    const char* others;
  } cases[] = {
      {[](Registered&, void*& at, int64_t&) { at = nullptr; }, TILEPOST_INVALID_ARGUMENT,
       "buffer is null", "tilepost_op_register: rank 1's buffer was refused; its own error says"},
      {[](Registered&, void*& at, int64_t&) { at = static_cast<char*>(at) + 2; },
       TILEPOST_INVALID_ARGUMENT, "buffer", "rank 1's buffer was refused"},
      {[](Registered&, void*&, int64_t& bytes) { bytes = 47; }, TILEPOST_INVALID_ARGUMENT,
       "bytes is 47, and the output of the operation's smallest run has 48", "rank 1's buffer"},
      {[](Registered&, void*&, int64_t& bytes) { bytes += 2; }, TILEPOST_INVALID_ARGUMENT,
       "on the allocation has 2928", "rank 1's buffer was refused"},
      {[](Registered&, void*&, int64_t& bytes) { bytes -= 16; }, TILEPOST_INVALID_ARGUMENT,
       "the buffer has 2928 bytes on rank 0 and 2912 on rank 1",
       "the buffer has 2912 bytes on rank 1 and 2928 on rank "},
      {[](Registered& buffer, void*&, int64_t&) {
         world().caller_memory[buffer.allocation()].device = 0;
       },
       TILEPOST_INVALID_ARGUMENT, "device 1, got memory of device 0", "rank 1's buffer"},
      {[](Registered& buffer, void*&, int64_t&) {
         world().caller_memory[buffer.allocation()].kind = "host";
       },
       TILEPOST_INVALID_ARGUMENT, "buffer must be device memory, got host memory at",
       "rank 1's buffer"},
      {[](Registered& buffer, void*&, int64_t&) {
         world().caller_memory[buffer.allocation()].kind = "managed";
       },
       TILEPOST_UNSUPPORTED, "is managed memory", "rank 1's buffer"},
      {[](Registered& buffer, void*&, int64_t&) {
         world().caller_memory[buffer.allocation()].kind = "pool";
       },
       TILEPOST_UNSUPPORTED, "is of a memory pool (cudaMallocAsync)", "rank 1's buffer"},
      {[](Registered& buffer, void*&, int64_t&) {
         world().caller_memory[buffer.allocation()].kind = "virtual";
       },
       TILEPOST_UNSUPPORTED, "is not memory of cudaMalloc (cuMemCreate", "rank 1's buffer"},
  };
  for (const auto& wrong : cases) {
    INFO(wrong.own);
    all.on_all([&](int rank, Rank& mine) {
      Registered buffer(rank, kElements);
      void* at = buffer.data();
      int64_t bytes = buffer.bytes();
      if (rank == 1) wrong.edit(buffer, at, bytes);
      mine.result = tilepost_op_register(mine.setup.op, at, bytes);
      mine.text = tilepost_last_error();
    });
    check_all(all, wrong.result, 1, wrong.own, wrong.others);
  }
  all.register_output(kM);
  check(all);
  all.on_all([&](int rank, Rank& mine) {
    Registered other(rank, kElements);
    Registered& buffer = *mine.registered[0];
    mine.result = rank == 2 ? tilepost_op_register(mine.setup.op, buffer.data() + 8, 64)
                            : tilepost_op_register(mine.setup.op, other.data(), 64);
    mine.text = tilepost_last_error();
  });
  check_all(all, TILEPOST_INVALID_ARGUMENT, 2, "are registered already; unregister these first",
            "rank 2's buffer was refused");
  all.run_mixed();
  check(all);
}

TEST_CASE_METHOD(Pushers, "registered: what one process cannot open none keeps open") {
  Ranks& all = create_pushers(3, true);
  const int before = world().live_mappings;
  const auto add = [&] {
    all.on_all([&](int rank, Rank& mine) {
      Registered buffer(rank, kM * 24);
      mine.result = tilepost_op_register(mine.setup.op, buffer.data(), buffer.bytes());
      mine.text = tilepost_last_error();
    });
  };
  world().cannot_open = {1};
  add();
  check_all(
      all, TILEPOST_UNSUPPORTED, 1, "the buffer of rank 0 (device 0, 0000:01:00.0) could not",
      "tilepost_op_register: rank 1 could not map the others' buffers; its own error says why");
  CHECK(world().live_mappings == before);
  world().cannot_open.clear();
  world().memory_handles = false;
  add();
  check_all(all, TILEPOST_UNSUPPORTED, 0, "CUDA gave rank 1 (device 1, 0000:02:00.0) no handle",
            "CUDA gave rank 0 (device 0, 0000:01:00.0) no handle");
  all.run_mixed();
  check(all);
}

TEST_CASE_METHOD(Pushers, "registered: unregistering is told likewise") {
  Ranks& all = create_pushers(3, true);
  all.register_output(kM);
  all.register_output(kM);
  const auto unregister = [&](auto buffer_of) {
    all.on_all([&](int rank, Rank& mine) {
      mine.result = tilepost_op_unregister(mine.setup.op, buffer_of(rank, mine));
      mine.text = tilepost_last_error();
    });
  };
  unregister([](int rank, Rank& mine) { return mine.registered[0]->data() + (rank == 0 ? 8 : 0); });
  check_all(all, TILEPOST_INVALID_ARGUMENT, 0, "no buffer that begins at ",
            "tilepost_op_unregister: rank 0's buffer was refused");
  unregister([](int rank, Rank& mine) { return mine.registered[rank == 1 ? 1 : 0]->data(); });
  check_all(all, TILEPOST_INVALID_ARGUMENT, 1,
            "number 1 of those registered on rank 0 and number 2 on rank 1",
            "number 2 of those registered on rank 1 and number 1 on rank ");
  all.on_all([&](int rank, Rank& mine) {
    Registered more(rank, 24);
    mine.result = rank == 2 ? tilepost_op_register(mine.setup.op, more.data(), more.bytes())
                            : tilepost_op_unregister(mine.setup.op, mine.registered[0]->data());
    mine.text = tilepost_last_error();
  });
  check_all(all, TILEPOST_INVALID_ARGUMENT, 2,
            "rank 0 has called tilepost_op_unregister and rank 2 tilepost_op_register; every rank",
            "rank 2 has called tilepost_op_register and rank ");
  all.run_mixed();
  check(all);
  all.register_output(kM);
  all.run_mixed();
  check(all);
  // Also of memory that was freed, and what is left is closed with the operation.
  all.on_all([&](int rank, Rank& mine) {
    if (rank == 1) world().caller_memory.erase(mine.registered[0]->allocation());
  });
  unregister([](int, Rank& mine) { return mine.registered[0]->data(); });
  check(all);
  for (int rank = 0; rank < 3; ++rank) {
    auto& registered = all.at(rank).registered;
    registered.erase(registered.begin());
  }
  all.run_mixed();
  check(all);
}

TEST_CASE_METHOD(Pushers, "registered: ranks register with the same operation, also of one plan") {
  Ranks& all = create_pushers(3, GENERATE(false, true));
  Ranks other(program, all);
  other.create();
  all.on_all([&](int rank, Rank& mine) {
    Registered buffer(rank, kM * 24);
    tilepost_op_t op = rank == 1 ? other.at(rank).setup.op : mine.setup.op;
    mine.result = tilepost_op_register(op, buffer.data(), buffer.bytes());
    mine.text = tilepost_last_error();
  });
  check_all(all, TILEPOST_INVALID_ARGUMENT, 1,
            "rank 0 has called tilepost_op_register with its operation 1 and rank 1 "
            "tilepost_op_register with its operation 2; every rank must make the same calls",
            "rank 1 has called tilepost_op_register with its operation 2 and rank ");
  for (Ranks* team : {&all, &other}) {
    team->register_output(kM);
    team->run_mixed();
    check(*team);
  }
  other.destroy();
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
  CHECK(run_to(buffer.data() + 40 * 24, 40) == TILEPOST_OK);  // behind it
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
  all.on_all([&](int rank, Rank& mine) {
    ranks::self().run = 1;  // the second one
    if (rank == 1 && none) mine.registered.clear();
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

TEST_CASE_METHOD(Operation, "registered: not while a run is being captured, on whichever stream") {
  ranks::use(program, kTasks, 3, 48);
  create();
  Registered buffer(0, 48 * 24), more(0, 48 * 24);
  CUstream_st* const other = fakes::user_stream("other");
  REQUIRE(tilepost_op_register(setup.op, buffer.data(), buffer.bytes()) == TILEPOST_OK);
  const auto run_on = [&](CUstream_st* stream, void* out) {
    tilepost_run_operands_t values = sample::operands();
    values.out = out;
    REQUIRE(tilepost_op_run_with(setup.op, &values, stream) == TILEPOST_OK);
  };
  const auto refuses = [&] {
    CHECK(tilepost_op_register(setup.op, more.data(), more.bytes()) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Contains("end the capture before a buffer is registered"));
    CHECK(tilepost_op_unregister(setup.op, buffer.data()) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Contains("end the capture before a buffer is unregistered"));
  };
  const int streams = world().live_streams;
  {
    const fakes::Capture capture(user);
    for (void* out : {sample::operands().out, static_cast<void*>(buffer.data())}) run_on(user, out);
    refuses();
    {
      const fakes::Capture beside(other);
      for (int i = 0; i < 2; ++i) {
        run_on(other, buffer.data());
        run_on(user, buffer.data());
      }
      refuses();
    }
    refuses();
  }
  CHECK(world().live_streams == streams + 1);
  {
    const fakes::Capture capture(other);
    REQUIRE(tilepost_op_register(setup.op, more.data(), more.bytes()) == TILEPOST_OK);
    run_on(other, more.data());
    refuses();
  }
  CHECK(world().live_streams == streams + 1);
  CHECK(tilepost_op_unregister(setup.op, buffer.data()) == TILEPOST_OK);
  CHECK(tilepost_op_register(nullptr, buffer.data(), 16) == TILEPOST_INVALID_ARGUMENT);
  CHECK(tilepost_op_unregister(nullptr, buffer.data()) == TILEPOST_INVALID_ARGUMENT);
}

TEST_CASE("registered: a rank that does not come is not waited for longer than the deadline") {
  OnFakes fresh;
  fresh.leaves_memory();
  Program program;
  ranks::use(program, kTasks, 2, 48);
  sample::Setup setup;
  REQUIRE(setup.create(program, 0.05) == TILEPOST_OK);
  Registered buffer(0, 48 * 24);
  world().collectives_hang = true;
  CHECK(tilepost_op_register(setup.op, buffer.data(), buffer.bytes()) == TILEPOST_TIMEOUT);
  CHECK_THAT(tilepost_last_error(), Contains("rank 1: tilepost_op_register: the other ranks did "
                                             "not come within 0.05 s"));
  CHECK(tilepost_op_register(setup.op, buffer.data(), buffer.bytes()) == TILEPOST_ABORTED);
}

TEST_CASE("registered: whatever call fails, the caller is told and nothing is lost") {
  FailingCalls failing;
  failing.in_turn([&](Operation& op) {
    ranks::use(op.program, kTasks, 3, 48);
    op.create();
    Registered buffer(0, 48 * 24);
    const tilepost_result_t result = failing.attempt(
        [&] { return tilepost_op_register(op.setup.op, buffer.data(), buffer.bytes()); },
        "cudaIpcGetMemHandle");  // of which a process needs none
    INFO(failing.what());
    if (result == TILEPOST_OK)
      CHECK(tilepost_op_unregister(op.setup.op, buffer.data()) == TILEPOST_OK);
    op.leaves_memory();
  });
  CHECK(failing.calls() > 20);
}
