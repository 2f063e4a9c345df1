// Running an operation: the order of the calls on the streams, epochs, captured runs, arguments,
// and what is left after any call has failed.
#include <algorithm>

#include "tests/catch.h"
#include "tests/runtime/fixture.h"

using Catch::Contains;
using fakes::world;
using sample::enqueued;
using sample::Lines;
using sample::pointer;
using sample::Program;
using sample::Setup;

namespace {

// An operation that runs by tilepost_op_run, which takes three pointers.
class Pointers : public Operation {
 public:
  tilepost_result_t run_in(CUstream_st* stream) const {
    return tilepost_op_run(setup.op, pointer(1), pointer(2), pointer(3), stream);
  }
  tilepost_result_t run() const { return run_in(user); }
};

}  // namespace

TEST_CASE_METHOD(
    Pointers,
    "the GEMM goes out before whatever waits for it, and the caller's stream joins last") {
  create();
  for (const auto& [wait0, wait1] :
       {std::pair{"wait own0 8", "wait own0 8"}, std::pair{"wait own0 16", "wait own0 16"},
        std::pair{"wait own0 24", "wait own0 24"}}) {
    world().reset_calls();
    REQUIRE(run() == TILEPOST_OK);
    CHECK(enqueued() == Lines{"cudaEventRecord user", "cudaStreamWaitEvent own0",
                              "gemm user x8 clusters", wait0, "allreduce own0 65536", wait1,
                              "allreduce own0 65536", "cudaEventRecord own0",
                              "cudaStreamWaitEvent user"});
  }
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
}

TEST_CASE_METHOD(Pointers, "the stream waiter waits for the value and reports progress") {
  program.plan.wait = TILEPOST_WAIT_STREAM;
  create();
  world().reset_calls();
  REQUIRE(run() == TILEPOST_OK);
  CHECK(enqueued() ==
        Lines{"cudaEventRecord user", "cudaStreamWaitEvent own0", "gemm user x8 clusters",
              "cuStreamWaitValue32 own0", "cuStreamWriteValue32 own0", "allreduce own0 65536",
              "cuStreamWaitValue32 own0", "cuStreamWriteValue32 own0", "allreduce own0 65536",
              "cudaEventRecord own0", "cudaStreamWaitEvent user"});
}

TEST_CASE_METHOD(Pointers,
                 "without overlap one collective follows the GEMM in the caller's stream") {
  program.use_sequence(4);
  create();
  world().reset_calls();
  REQUIRE(run() == TILEPOST_OK);
  CHECK(enqueued() == Lines{"cudaEventRecord user", "gemm user x8 clusters",
                            "allreduce user 131072", "cudaEventRecord user"});
}

TEST_CASE_METHOD(Pointers, "a group in tile layout is put in place after its collective") {
  program.use_tiles(TILEPOST_CONSUMER_UNPERMUTE);
  create();
  world().reset_calls();
  REQUIRE(run() == TILEPOST_OK);
  CHECK(enqueued() == Lines{"cudaEventRecord user", "cudaStreamWaitEvent own0",
                            "gemm user x8 clusters", "wait own0 6", "allreduce own0 49152",
                            "unpermute own0 0+3", "wait own0 10", "allreduce own0 81920",
                            "unpermute own0 3+5", "cudaEventRecord own0",
                            "cudaStreamWaitEvent user"});
}

TEST_CASE_METHOD(Pointers,
                 "a captured run in sequence has its counters reset by its first kernel") {
  program.use_sequence(4);
  create();
  REQUIRE(run() == TILEPOST_OK);
  world().reset_calls();
  const fakes::Capture capture(user);
  REQUIRE(run() == TILEPOST_OK);
  CHECK(enqueued() == sample::captured({"cudaEventRecord user", "replay_begin user 1 groups",
                                        "gemm user x8 clusters", "allreduce user 131072",
                                        "replay_end user", "cudaEventRecord user"}));
}

TEST_CASE_METHOD(Pointers, "a captured product that stays on its rank is the kernel alone") {
  program.use(TILEPOST_GEMM, 2, TILEPOST_DIVISION_ROWS, {4});
  program.use_sequence(4);
  create();
  const fakes::Capture capture(user);
  world().reset_calls();
  REQUIRE(run() == TILEPOST_OK);
  CHECK(enqueued() == sample::captured({"cudaEventRecord user", "gemm user x8 clusters",
                                        "cudaEventRecord user"}));
}

TEST_CASE_METHOD(Pointers,
                 "a captured run resets its own counters and always polls for the same targets") {
  program.plan.wait = GENERATE(TILEPOST_WAIT_POLL, TILEPOST_WAIT_STREAM);
  create();
  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    REQUIRE(run() == TILEPOST_OK);  // eager runs come in between
    world().reset_calls();
    {
      const fakes::Capture capture(user);
      REQUIRE(run() == TILEPOST_OK);
      CHECK(enqueued() ==
            sample::captured({"cudaMemsetAsync user", "cudaEventRecord user",
                              "cudaStreamWaitEvent own0", "replay_begin own0",
                              "gemm user x8 clusters", "wait own0 8", "allreduce own0 65536",
                              "wait own0 8", "allreduce own0 65536", "replay_end own0",
                              "cudaEventRecord own0", "cudaStreamWaitEvent user"}));
    }
    CHECK(tilepost_op_status(setup.op) == TILEPOST_OK);
  }
}

TEST_CASE_METHOD(Pointers, "a run in another stream waits for the last one") {
  create();
  REQUIRE(run() == TILEPOST_OK);
  world().reset_calls();
  REQUIRE(run_in(fakes::user_stream("other")) == TILEPOST_OK);
  CHECK(enqueued().front() == "cudaStreamWaitEvent other");
  world().reset_calls();
  REQUIRE(run_in(nullptr) == TILEPOST_OK);  // the legacy default stream is treated like any other
  CHECK(enqueued().front() == "cudaStreamWaitEvent legacy");
}

TEST_CASE_METHOD(Pointers, "a run makes nothing") {
  create();
  const int live = world().live();
  for (uintptr_t i = 1; i < 200; ++i)
    REQUIRE(tilepost_op_run(setup.op, pointer(i), pointer(2 * i), pointer(3 * i), user) ==
            TILEPOST_OK);
  CHECK(world().live() == live);
  CHECK(std::count(world().log.begin(), world().log.end(), "gemm user x8 clusters") == 199);
}

TEST_CASE_METHOD(Pointers, "tensor maps are made once for the pointers in use") {
  create();
  const auto encoded = [&] { return std::count(world().log.begin(), world().log.end(), "encode"); };
  REQUIRE(run() == TILEPOST_OK);
  REQUIRE(run() == TILEPOST_OK);
  CHECK(encoded() == 3);
  REQUIRE(tilepost_op_run(setup.op, pointer(1), pointer(2), pointer(4), user) == TILEPOST_OK);
  CHECK(encoded() == 6);
}

// The layers of a model that share an operation run in turn, each with operands of its own.
TEST_CASE_METHOD(Pointers, "what was checked is not asked about again") {
  create();
  const auto calls_of = [&](uintptr_t layer) {
    tilepost_run_operands_t operands = sample::operands();
    operands.b = pointer(100 + layer);
    world().reset_calls();
    REQUIRE(run_with(operands) == TILEPOST_OK);
    const int calls = world().calls;
    REQUIRE(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
    return calls;
  };
  constexpr uintptr_t kLayers = 40;
  const auto all_calls = [&] {
    int calls = 0;
    for (uintptr_t layer = 0; layer < kLayers; ++layer) calls += calls_of(layer);
    return calls;
  };
  const int first = all_calls();
  const int least = calls_of(0);
  CHECK(first >= static_cast<int>(kLayers) * (least + 1));  // they ask
  CHECK(all_calls() <= static_cast<int>(kLayers) * least + static_cast<int>(kLayers) / 4);
}

TEST_CASE_METHOD(Pointers, "wrong arguments are refused and change nothing") {
  create();
  const auto refused = [&](const void* a, const void* b, void* out, CUstream_st* stream) {
    world().reset_calls();
    CHECK(tilepost_op_run(setup.op, a, b, out, stream) == TILEPOST_INVALID_ARGUMENT);
    CHECK(enqueued().empty());
    return std::string(tilepost_last_error());
  };
  const auto misaligned = [](int by) { return static_cast<char*>(pointer(5)) + by; };
  CHECK_THAT(refused(nullptr, pointer(2), pointer(3), user), Contains("a is null"));
  CHECK_THAT(refused(pointer(1), nullptr, pointer(3), user), Contains("b is null"));
  CHECK_THAT(refused(pointer(1), pointer(2), nullptr, user), Contains("out is null"));
  CHECK_THAT(
      refused(misaligned(2), pointer(2), pointer(3), user),
      Contains("a must be a multiple of 16 bytes, got 0x14000002, which is 2 bytes past one"));
  CHECK_THAT(refused(pointer(1), misaligned(8), pointer(3), user),
             Contains("b must be a multiple"));
  CHECK_THAT(refused(pointer(1), pointer(2), misaligned(15), user), Contains("which is 15 bytes"));
  world().host_pointers = {{pointer(6), -1}, {pointer(7), 1}};
  CHECK_THAT(refused(pointer(6), pointer(2), pointer(3), user),
             Contains("a must be device memory"));
  CHECK_THAT(refused(pointer(1), pointer(2), pointer(7), user),
             Contains("out must be memory of the communicator's device 0, got memory of device 1"));
  CHECK_THAT(refused(pointer(1), pointer(2), pointer(3), fakes::user_stream("far", 1)),
             Contains("the stream belongs to device 1, the communicator to device 0"));
  CHECK(tilepost_op_run(nullptr, pointer(1), pointer(2), pointer(3), user) ==
        TILEPOST_INVALID_ARGUMENT);
  CHECK(run() == TILEPOST_OK);
}

TEST_CASE_METHOD(Pointers, "the caller's device is current again after every call") {
  create();
  fakes::current_device() = 1;
  world().host_pointers = {{pointer(1), 0}, {pointer(2), 0}, {pointer(3), 0}};
  CHECK(run() == TILEPOST_OK);
  CHECK(fakes::current_device() == 1);
  CHECK(tilepost_op_status(setup.op) == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  CHECK(fakes::current_device() == 1);
  tilepost_op_destroy(setup.op);
  setup.op = nullptr;
  CHECK(fakes::current_device() == 1);
  fakes::current_device() = 0;
}

TEST_CASE("every call of run can fail: before the GEMM without effect, after it for good") {
  const bool captured = GENERATE(false, true);
  FailingCalls failing;
  failing.in_turn([&](Operation& op) {
    op.program.use_tiles(TILEPOST_CONSUMER_UNPERMUTE);
    op.create();
    const auto run = [&] {
      return tilepost_op_run(op.setup.op, pointer(1), pointer(2), pointer(3), op.user);
    };
    const auto result = failing.attempt([&] {
      const fakes::Capture capture(op.user, captured);
      return run();
    });
    INFO(failing.what());
    const auto lines = enqueued();
    const bool launched = std::count(lines.begin(), lines.end(), "gemm user x8 clusters") > 0 &&
                          world().failed_call != "gemm user x8 clusters";
    const bool broken = result != TILEPOST_OK && launched && !captured;
    CHECK(tilepost_op_status(op.setup.op) == (broken ? result : TILEPOST_OK));
    CHECK(world().aborted_comms == (broken ? sample::kComms : 0));
    CHECK(run() == (broken ? TILEPOST_ABORTED : TILEPOST_OK));
    if (broken) CHECK_THAT(tilepost_last_error(), Contains("make a new one"));
  });
  CHECK(failing.calls() > 15);
}

TEST_CASE_METHOD(Pointers, "more runs than events wait for the oldest") {
  create();
  for (int i = 0; i < 500; ++i) REQUIRE(run() == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
}

TEST_CASE_METHOD(Operation, "a stream with part of the SMs is refused") {
  create();
  world().stream_sms = 96;
  world().reset_calls();
  CHECK(run() == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("has 96 of the 132 SMs") && Contains("whole device"));
  CHECK(enqueued().empty());
  world().stream_sms = 132;
  CHECK(run() == TILEPOST_OK);
}
