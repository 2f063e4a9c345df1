// Runs that cannot end by themselves: the deadline, what the error says, and that the process can
// go on afterwards.
#include <chrono>
#include <thread>

#include "tests/catch.h"
#include "tests/runtime/sample.h"

using Catch::Contains;
using fakes::world;
using sample::pointer;
using sample::Program;
using sample::Setup;
using Clock = std::chrono::steady_clock;

namespace {

constexpr double kDeadline = 0.2;
constexpr double kSlack = 5;  // seconds that a busy machine may take

tilepost_result_t run(const Setup& setup) {
  return tilepost_op_run(setup.op, pointer(1), pointer(2), pointer(3), fakes::user_stream("user"));
}

// Runs once, waits for the end of it, and returns the error; checks that it came in time.
std::string ended_by_deadline(const Setup& setup, double deadline = kDeadline) {
  REQUIRE(run(setup) == TILEPOST_OK);
  const auto begin = Clock::now();
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_TIMEOUT);
  const std::string text = tilepost_last_error();
  const std::chrono::duration<double> elapsed = Clock::now() - begin;
  CHECK(elapsed.count() < deadline + kSlack);
  return text;
}

// After a failure: status repeats it, everything else is refused, and a new communicator works.
void check_aftermath(Setup& setup, const Program& program) {
  CHECK(world().aborted_comms == 1);
  CHECK(tilepost_op_status(setup.op) == TILEPOST_TIMEOUT);
  CHECK(run(setup) == TILEPOST_ABORTED);
  CHECK_THAT(tilepost_last_error(), Contains("the reason: rank 1: "));
  tilepost_op_t another = nullptr;
  CHECK(tilepost_op_create(setup.comm, &program.program, nullptr, &another) == TILEPOST_ABORTED);
  CHECK(tilepost_op_destroy(setup.op) == TILEPOST_OK);
  CHECK(tilepost_comm_destroy(setup.comm) == TILEPOST_OK);
  setup.op = nullptr;
  setup.comm = nullptr;
  CHECK(world().live() == 0);

  fakes::reset();
  Setup fresh;
  REQUIRE(fresh.create(program, kDeadline) == TILEPOST_OK);
  REQUIRE(run(fresh) == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(fresh.op) == TILEPOST_OK);
}

}  // namespace

TEST_CASE("a rank that does not arrive") {
  fakes::reset();
  Program program;
  program.plan.wait = GENERATE(TILEPOST_WAIT_POLL, TILEPOST_WAIT_STREAM);
  Setup setup;
  REQUIRE(setup.create(program, kDeadline) == TILEPOST_OK);
  REQUIRE(run(setup) == TILEPOST_OK);
  REQUIRE(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  world().collectives_hang = true;
  CHECK(ended_by_deadline(setup) ==
        "rank 1: run 2: group 1 of 2 not finished after 0.2 s: its tiles were ready but the "
        "AllReduce did not finish: a rank did not arrive");
  check_aftermath(setup, program);
}

TEST_CASE("a GEMM that stops") {
  fakes::reset();
  Program program;
  program.plan.wait = GENERATE(TILEPOST_WAIT_POLL, TILEPOST_WAIT_STREAM);
  Setup setup;
  REQUIRE(setup.create(program, kDeadline) == TILEPOST_OK);
  REQUIRE(run(setup) == TILEPOST_OK);
  REQUIRE(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  world().gemm_posts_percent = 50;
  CHECK_THAT(ended_by_deadline(setup),
             Contains("rank 1: run 2: group 1 of 2 not finished after 0.2 s: its tiles were not: "
                      "counter 4 of 8"));
  check_aftermath(setup, program);
}

TEST_CASE("a waiter on the device that gives up is reported even though the run went on to end") {
  fakes::reset();
  Program program;
  Setup setup;
  REQUIRE(setup.create(program, kDeadline) == TILEPOST_OK);
  world().gemm_posts_percent = 25;
  world().waits_give_up = true;
  CHECK_THAT(ended_by_deadline(setup),
             Contains("run 1: group 1 of 2") && Contains("counter 2 of 8"));
  check_aftermath(setup, program);
}

TEST_CASE("the watchdog ends a run that nobody asks about") {
  fakes::reset();
  Program program;
  Setup setup;
  REQUIRE(setup.create(program, kDeadline) == TILEPOST_OK);
  world().collectives_hang = true;
  REQUIRE(run(setup) == TILEPOST_OK);
  const auto aborted = [] {
    const std::lock_guard lock(world().mutex);
    return world().aborted_comms;
  };
  const auto begin = Clock::now();
  while (aborted() == 0 && Clock::now() - begin < std::chrono::seconds(5))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(aborted() == 1);
  const std::chrono::duration<double> elapsed = Clock::now() - begin;
  CHECK(elapsed.count() > kDeadline * 0.9);
  CHECK(run(setup) == TILEPOST_ABORTED);
}

TEST_CASE("destroying an operation whose run hangs ends within the deadline") {
  fakes::reset();
  const auto begin = Clock::now();
  {
    Program program;
    Setup setup;
    REQUIRE(setup.create(program, kDeadline) == TILEPOST_OK);
    world().collectives_hang = true;
    REQUIRE(run(setup) == TILEPOST_OK);
  }
  const std::chrono::duration<double> elapsed = Clock::now() - begin;
  CHECK(elapsed.count() < kDeadline + kSlack);
  CHECK(world().live() == 0);
}

TEST_CASE("a transport that does not overlap has the deadline too") {
  fakes::reset();
  Program program;
  program.use_sequence(4);
  Setup setup;
  REQUIRE(setup.create(program, kDeadline) == TILEPOST_OK);
  world().collectives_hang = true;
  CHECK_THAT(ended_by_deadline(setup), Contains("all groups") && Contains("a rank did not arrive"));
  check_aftermath(setup, program);
}

TEST_CASE("a replayed run has the deadline too") {
  fakes::reset();
  Program program;
  Setup setup;
  REQUIRE(setup.create(program, kDeadline) == TILEPOST_OK);
  CUstream_st* user = fakes::user_stream("user");
  fakes::stream_of(user).capturing = true;
  world().collectives_hang = true;  // the fake captures and runs at once
  REQUIRE(tilepost_op_run(setup.op, pointer(1), pointer(2), pointer(3), user) == TILEPOST_OK);
  CHECK(tilepost_op_status(setup.op) == TILEPOST_IN_PROGRESS);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_TIMEOUT);
  CHECK_THAT(tilepost_last_error(), Contains("rank 1: a replayed run: group 1 of 2"));
}

TEST_CASE("an error that NCCL meets in the background ends the run") {
  fakes::reset();
  Program program;
  Setup setup;
  REQUIRE(setup.create(program, 30) == TILEPOST_OK);
  world().collectives_hang = true;
  REQUIRE(run(setup) == TILEPOST_OK);
  world().async_error = 6;  // ncclRemoteError
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_NCCL_ERROR);
  CHECK(run(setup) == TILEPOST_ABORTED);
}

TEST_CASE("a rank that does not come to create") {
  fakes::reset();
  world().collectives_hang = true;
  Program program;
  {
    Setup setup;
    CHECK(setup.create(program, kDeadline) == TILEPOST_TIMEOUT);
    CHECK_THAT(tilepost_last_error(), Contains("a rank did not arrive") && Contains("0.2 s"));
    CHECK(world().aborted_comms == 1);
  }
  CHECK(world().live() == 0);
}

TEST_CASE("two operations of one communicator fail together") {
  fakes::reset();
  Program program;
  Setup setup;
  REQUIRE(setup.create(program, kDeadline) == TILEPOST_OK);
  tilepost_options_t options = tilepost_default_options();
  tilepost_op_t second = nullptr;
  REQUIRE(tilepost_op_create(setup.comm, &program.program, &options, &second) == TILEPOST_OK);
  world().collectives_hang = true;
  ended_by_deadline(setup);
  CHECK(tilepost_op_run(second, pointer(1), pointer(2), pointer(3), fakes::user_stream("x")) ==
        TILEPOST_ABORTED);
  CHECK_THAT(tilepost_last_error(), Contains("another operation"));
  CHECK(tilepost_op_destroy(second) == TILEPOST_OK);
}

TEST_CASE("status is in progress while a run is, and without a deadline it stays so") {
  fakes::reset();
  Program program;
  Setup setup;
  REQUIRE(setup.create(program, 0) == TILEPOST_OK);
  world().collectives_hang = true;
  REQUIRE(run(setup) == TILEPOST_OK);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(tilepost_op_status(setup.op) == TILEPOST_IN_PROGRESS);
  fakes::release_all();
  CHECK(tilepost_op_status(setup.op) == TILEPOST_OK);
}
