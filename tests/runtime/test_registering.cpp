// Registering and unregistering outputs: what is allowed, what the ranks exchange, and what happens
// to their devices and memory.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

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

// With peer access such calls wait for kernels of other devices, which may wait for the caller.
TEST_CASE_METHOD(Pushers, "registered: registering allocates and frees no memory") {
  Ranks& all = create_pushers(3, GENERATE(false, true));
  Ranks other(program, all);
  other.create();
  all.run_mixed();
  const int calls = world().memory_calls;
  for (int round = 0; round < 3; ++round) {
    for (Ranks* team : {&all, &other}) {
      team->register_output(kM);
      team->register_output(35);
      team->run(3, 35);
      check(*team);
      team->unregister_outputs();
    }
    world().cannot_open = {0};
    all.on_all([](int rank, Rank& mine) {
      Registered buffer(rank, 24 * kM);
      tilepost_op_register(mine.setup.op, buffer.data(), buffer.bytes());
      tilepost_op_unregister(mine.setup.op, buffer.data());
    });
    world().cannot_open.clear();
  }
  CHECK(world().memory_calls == calls);
  other.destroy();
}

// Mapping memory may wait for all work on the devices of the process. A rank's exchange of numbers
// stays on its device until all ranks have sent theirs. So no rank may begin one before the ranks
// of its process have mapped.
TEST_CASE_METHOD(Pushers, "registered: the ranks of a process map, and close, before one goes on") {
  constexpr int kRanks = 4;
  const int of_process = GENERATE(4, 2);
  CAPTURE(of_process);
  Ranks& all = create_pushers_by(kRanks, of_process);
  std::atomic<int> mapped = 0, early = 0;
  std::array<std::atomic<bool>, kRanks> telling{};  // indexed by process
  world().on_mapping = [&] {
    const int rank = fakes::current_device();
    if (rank % 2 == 1) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    early += telling[rank / of_process] ? 1 : 0;
    ++mapped;
  };
  world().exchange = [&, meet = world().exchange](const int64_t* from, int64_t* to, size_t n) {
    if (n == 1) telling[ranks::self().rank / of_process] = true;
    meet(from, to, n);
  };
  const auto stop_telling = [&] { std::ranges::fill(telling, false); };
  all.register_output(kM);
  stop_telling();
  all.unregister_outputs();
  check(all);
  CHECK(mapped == (of_process == 4 ? 4 * 3 : 4 + 2 * 4 * 2));
  CHECK(early == 0);
  // The same holds for closing memory that was opened in vain.
  stop_telling();
  world().cannot_open = {2};
  all.on_all([](int rank, Rank& mine) {
    Registered buffer(rank, kM * 24);
    mine.result = tilepost_op_register(mine.setup.op, buffer.data(), buffer.bytes());
  });
  CHECK(all.all_ok() == (of_process == 4));
  world().on_mapping = nullptr;
}

TEST_CASE_METHOD(Pushers, "registered: a rank that maps for too long is not waited for longer") {
  leaves_memory();
  Ranks& all = create_pushers(3, false, 0.05);
  std::atomic<int> returned = 0;
  world().on_mapping = [&] {
    while (fakes::current_device() == 1 && returned < 2)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  all.on_all([&](int rank, Rank& mine) {
    Registered buffer(rank, kM * 24);
    mine.result = tilepost_op_register(mine.setup.op, buffer.data(), buffer.bytes());
    mine.text = tilepost_last_error();
    ++returned;
  });
  const char* const text = "tilepost_op_register: the other ranks did not come within 0.05 s";
  check_all(all, TILEPOST_TIMEOUT, 0, text, text);
}

TEST_CASE_METHOD(Pushers, "registered: threads need no handles for other processes") {
  Ranks& all = create_pushers(3, false);
  world().memory_handles = false;
  all.register_output(kM);
  all.run_mixed();
  check(all);
  all.on_all([](int rank, Rank& mine) {
    Registered buffer(rank, kM * 24);
    if (rank == 1) world().caller_memory[buffer.allocation()].kind = "virtual";
    mine.result = tilepost_op_register(mine.setup.op, buffer.data(), buffer.bytes());
    mine.text = tilepost_last_error();
  });
  check_all(all, TILEPOST_UNSUPPORTED, 1, "is memory of cuMemCreate",
            "rank 1's buffer was refused");
}

TEST_CASE_METHOD(Operation, "registered: so many buffers at a time and no more") {
  constexpr int64_t kRows = 12;  // at least one row for every rank
  program.plan.any_m = 1;
  ranks::use(program, kTasks, 3, kM);
  create();
  std::vector<std::unique_ptr<Registered>> buffers;
  std::set<const void*> tables;
  const auto add = [&] {
    Registered& fresh = *buffers.emplace_back(std::make_unique<Registered>(0, kRows * 24));
    return tilepost_op_register(setup.op, fresh.data(), fresh.bytes());
  };
  while (buffers.size() < tilepost::kMostRegistered) REQUIRE(add() == TILEPOST_OK);
  CHECK(add() == TILEPOST_UNSUPPORTED);
  CHECK_THAT(tilepost_last_error(), Contains("256 buffers are registered with the operation"));
  buffers.pop_back();
  REQUIRE(tilepost_op_unregister(setup.op, buffers[7]->data()) == TILEPOST_OK);
  buffers.erase(buffers.begin() + 7);
  REQUIRE(add() == TILEPOST_OK);
  for (const size_t at : {size_t{0}, size_t{7}, size_t{100}, buffers.size() - 1}) {
    const auto& buffer = buffers[at];
    tilepost_run_operands_t values = sample::operands();
    values.out = buffer->data();
    values.m = kRows;
    REQUIRE(run_with(values) == TILEPOST_OK);
    CHECK(world().view.tasks.there[1] == static_cast<void*>(buffer->data()));
    tables.insert(world().view.tasks.there);
  }
  CHECK(tables.size() == 4);
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
       TILEPOST_UNSUPPORTED, "is memory of cuMemCreate (as in PyTorch's expandable segments)",
       "rank 1's buffer"},
      {[](Registered& buffer, void*&, int64_t&) {
         world().caller_memory[buffer.allocation()].kind = "graph";
       },
       TILEPOST_UNSUPPORTED, "is not memory that cudaMalloc made in this process",
       "rank 1's buffer"},
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
  // Buffers that were freed can be unregistered too. Closing the operation undoes the rest.
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
  world().reset_calls();
  CHECK(tilepost_op_unregister(setup.op, buffer.data()) == TILEPOST_OK);
  // The caller's streams are not asked, because they may be gone.
  for (const char* stream : {":user", ":other"})
    CHECK(std::ranges::none_of(world().log,
                               [&](const auto& line) { return line.ends_with(stream); }));
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
        "cudaIpcGetMemHandle");  // ranks of one process need no handle
    INFO(failing.what());
    if (result == TILEPOST_OK)
      CHECK(tilepost_op_unregister(op.setup.op, buffer.data()) == TILEPOST_OK);
    op.leaves_memory();
  });
  CHECK(failing.calls() > 20);
}
