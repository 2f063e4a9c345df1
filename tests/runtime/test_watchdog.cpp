// Runs that cannot end by themselves: the deadline, the error, and that the process can go on
// afterwards.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include "tests/catch.h"
#include "tests/runtime/fixture.h"

using Catch::Contains;
using fakes::world;
using sample::pointer;
using sample::Program;
using sample::Setup;
using Clock = std::chrono::steady_clock;

namespace {

constexpr double kDeadline = 0.2;
constexpr double kSlack = 5;  // how many seconds longer a busy machine may take

class Watched : public Operation {
 public:
  // Makes a run, waits for its end, and returns the error. Checks that the error came in time.
  std::string ended_by_deadline() const {
    REQUIRE(run() == TILEPOST_OK);
    const auto begin = Clock::now();
    CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_TIMEOUT);
    const std::string text = tilepost_last_error();
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    CHECK(elapsed.count() < kDeadline + kSlack);
    return text;
  }
  // Checks that after a failure status repeats it, every other call is refused, and a new
  // communicator works.
  void check_aftermath();
};

void Watched::check_aftermath() {
  CHECK(world().aborted_comms == sample::kComms);
  CHECK(tilepost_op_status(setup.op) == TILEPOST_TIMEOUT);
  CHECK(run() == TILEPOST_ABORTED);
  CHECK_THAT(tilepost_last_error(), Contains("the reason: rank 1: "));
  tilepost_op_t another = nullptr;
  CHECK(tilepost_op_create(setup.comm, &program.program, nullptr, &another) == TILEPOST_ABORTED);
  CHECK(tilepost_op_destroy(setup.op) == TILEPOST_OK);
  CHECK(tilepost_comm_destroy(setup.comm) == TILEPOST_OK);
  setup.op = nullptr;
  setup.comm = nullptr;
  CHECK(world().live() == 0);

  const OnFakes world_after;
  Setup fresh;
  REQUIRE(fresh.create(program, kDeadline) == TILEPOST_OK);
  REQUIRE(run_on(fresh, fakes::user_stream("user")) == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(fresh.op) == TILEPOST_OK);
}

}  // namespace

TEST_CASE_METHOD(Watched, "a rank that does not arrive") {
  program.plan.wait = GENERATE(TILEPOST_WAIT_POLL, TILEPOST_WAIT_STREAM);
  create(kDeadline);
  REQUIRE(run() == TILEPOST_OK);
  REQUIRE(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  world().collectives_hang = true;
  CHECK(ended_by_deadline() ==
        "rank 1: run 2: group 1 of 2 not finished after 0.2 s: its tiles were ready but the "
        "AllReduce did not finish: a rank did not arrive");
  check_aftermath();
}

TEST_CASE_METHOD(Watched, "a GEMM that stops") {
  program.plan.wait = GENERATE(TILEPOST_WAIT_POLL, TILEPOST_WAIT_STREAM);
  create(kDeadline);
  REQUIRE(run() == TILEPOST_OK);
  REQUIRE(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  world().gemm_posts_percent = 50;
  CHECK_THAT(ended_by_deadline(),
             Contains("rank 1: run 2: group 1 of 2 not finished after 0.2 s: its tiles were not: "
                      "counter 4 of 8"));
  check_aftermath();
}

TEST_CASE_METHOD(
    Watched,
    "a waiter on the device that gives up is reported even though the run went on to end") {
  create(kDeadline);
  world().gemm_posts_percent = 25;
  world().waits_give_up = true;
  CHECK_THAT(ended_by_deadline(), Contains("run 1: group 1 of 2") && Contains("counter 2 of 8"));
  check_aftermath();
}

TEST_CASE_METHOD(Watched, "the watchdog ends a run that nobody asks about") {
  create(kDeadline);
  world().collectives_hang = true;
  REQUIRE(run() == TILEPOST_OK);
  const auto aborted = [] {
    const std::lock_guard lock(world().mutex);
    return world().aborted_comms;
  };
  const auto begin = Clock::now();
  while (aborted() == 0 && Clock::now() - begin < std::chrono::seconds(5))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(aborted() > 0);
  const std::chrono::duration<double> elapsed = Clock::now() - begin;
  CHECK(elapsed.count() > kDeadline * 0.9);
  CHECK(run() == TILEPOST_ABORTED);
}

// Looking takes CUDA's locks, for which the calls that follow would wait.
TEST_CASE_METHOD(Watched,
                 "the watchdog looks a period after a run, and not while calls follow it") {
  create(60);  // so that a period is 100 ms
  const auto calls_within = [](std::chrono::milliseconds time) {
    std::this_thread::sleep_for(time);
    const std::lock_guard lock(world().mutex);
    return world().calls;
  };
  bool in_time = false;
  for (int attempt = 0; !in_time && attempt < 50; ++attempt) {
    const auto begin = Clock::now();
    REQUIRE(run() == TILEPOST_OK);
    world().reset_calls();
    const int calls = calls_within(std::chrono::milliseconds(20));
    in_time =
        Clock::now() - begin < std::chrono::milliseconds(90);  // not on a machine that is busy
    if (in_time) CHECK(calls == 0);
    for (int waited = 0; waited < 50 && calls_within(std::chrono::milliseconds(100)) == 0; ++waited)
      continue;
    CHECK(calls_within(std::chrono::milliseconds(0)) > 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it sleeps again
  }
  CHECK(in_time);
}

TEST_CASE_METHOD(Watched, "destroying an operation whose run hangs ends within the deadline") {
  const auto begin = Clock::now();
  create(kDeadline);
  world().collectives_hang = true;
  REQUIRE(run() == TILEPOST_OK);
  release();
  const std::chrono::duration<double> elapsed = Clock::now() - begin;
  CHECK(elapsed.count() < kDeadline + kSlack);
}

TEST_CASE_METHOD(Watched, "a transport that does not overlap has the deadline too") {
  program.use_sequence(4);
  create(kDeadline);
  world().collectives_hang = true;
  CHECK_THAT(ended_by_deadline(), Contains("all groups") && Contains("a rank did not arrive"));
  check_aftermath();
}

TEST_CASE_METHOD(Watched, "a replayed run has the deadline too") {
  create(kDeadline);
  world().collectives_hang = true;  // the fake runs at once what it captures
  REQUIRE(run_captured() == TILEPOST_OK);
  CHECK(tilepost_op_status(setup.op) == TILEPOST_IN_PROGRESS);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_TIMEOUT);
  CHECK_THAT(tilepost_last_error(), Contains("rank 1: a replayed run: group 1 of 2"));
}

TEST_CASE_METHOD(Watched, "an error that NCCL meets in the background ends the run") {
  create(30);
  world().collectives_hang = true;
  REQUIRE(run() == TILEPOST_OK);
  world().async_error = 6;  // ncclRemoteError
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_NCCL_ERROR);
  CHECK(run() == TILEPOST_ABORTED);
}

TEST_CASE_METHOD(Watched, "a rank that does not come to create") {
  world().collectives_hang = true;
  CHECK(setup.create(program, kDeadline) == TILEPOST_TIMEOUT);
  CHECK_THAT(tilepost_last_error(), Contains("a rank did not arrive") && Contains("0.2 s"));
  CHECK(world().aborted_comms == 1);
}

TEST_CASE_METHOD(Watched, "two operations of one communicator fail together") {
  create(kDeadline);
  tilepost_options_t options = tilepost_default_options();
  tilepost_op_t second = nullptr;
  REQUIRE(tilepost_op_create(setup.comm, &program.program, &options, &second) == TILEPOST_OK);
  world().collectives_hang = true;
  ended_by_deadline();
  CHECK(tilepost_op_run(second, pointer(1), pointer(2), pointer(3), fakes::user_stream("x")) ==
        TILEPOST_ABORTED);
  CHECK_THAT(tilepost_last_error(), Contains("another operation"));
  CHECK(tilepost_op_destroy(second) == TILEPOST_OK);
}

TEST_CASE_METHOD(Watched,
                 "status is in progress while a run is, and without a deadline it stays so") {
  create();
  world().collectives_hang = true;
  REQUIRE(run() == TILEPOST_OK);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(tilepost_op_status(setup.op) == TILEPOST_IN_PROGRESS);
  fakes::release_all();
  CHECK(tilepost_op_status(setup.op) == TILEPOST_OK);
}

TEST_CASE_METHOD(Operation, "all communicators of an operation are aborted at once") {
  const bool any_m = GENERATE(false, true);
  program.plan.comm_lanes = 2;
  if (any_m) program.use_any_m();
  create(kDeadline);
  world().collectives_hang = true;
  world().aborts_meet = sample::kComms + (any_m ? 2 : 1);
  REQUIRE(run() == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_TIMEOUT);
  CHECK(world().aborted_comms == world().aborts_meet);
  CHECK(world().aborts_alone == 0);
}

TEST_CASE_METHOD(Watched, "an abort of NCCL that does not return holds nobody up") {
  leaves_memory();  // the collective may still use it
  const int64_t left = tilepost_bytes_left();
  create(kDeadline);
  world().collectives_hang = true;
  world().nccl_hangs = "ncclCommAbort";
  // The abort may also wait for work of others, so the operation's error does not wait for the
  // abort.
  CHECK_THAT(ended_by_deadline(), Contains("a rank did not arrive"));
  const auto begin = Clock::now();
  CHECK(run() == TILEPOST_ABORTED);
  setup.release();
  const std::chrono::duration<double> elapsed = Clock::now() - begin;
  CHECK(elapsed.count() < kSlack);
  // Pinned memory is not freed, because that would wait for the device too.
  CHECK(world().live_pinned == 3);
  CHECK(tilepost_bytes_left() > left);
  CHECK(world().hanging_calls >= 2);  // of the operation's communicators, and of their parent
  world().collectives_hang = false;
  fakes::release_all();
  Setup fresh;
  REQUIRE(fresh.create(program, kDeadline) == TILEPOST_OK);
  REQUIRE(run_on(fresh, user) == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(fresh.op) == TILEPOST_OK);
}

TEST_CASE_METHOD(Watched,
                 "an NCCL that does not let go of a communicator holds nobody up for long") {
  create(kDeadline);
  world().nccl_hangs = "ncclCommDestroy";
  CHECK(tilepost_op_destroy(std::exchange(setup.op, nullptr)) == TILEPOST_OK);
  const auto begin = Clock::now();
  std::thread rank_that_comes_late([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    fakes::return_all();
  });
  CHECK(tilepost_comm_destroy(std::exchange(setup.comm, nullptr)) == TILEPOST_OK);
  rank_that_comes_late.join();
  // Destroying has waited for the rank.
  CHECK(Clock::now() - begin > std::chrono::milliseconds(45));
  CHECK(world().live_comms == 0);
}

TEST_CASE_METHOD(Watched, "destroying does not wait for ever for what precedes a run") {
  create(kDeadline);
  fakes::stream_of(user).hang = {true, {}};  // as a collective of the caller's may hang
  REQUIRE(run() == TILEPOST_OK);
  const auto begin = Clock::now();
  CHECK(tilepost_op_destroy(std::exchange(setup.op, nullptr)) == TILEPOST_OK);
  const std::chrono::duration<double> elapsed = Clock::now() - begin;
  CHECK(elapsed.count() >= kDeadline);
  CHECK(elapsed.count() < kDeadline + kSlack);
  CHECK(world().aborted_comms > 0);
}

// The watchdog reads the runs' waits, and writes their ends after a further run was issued.
TEST_CASE_METHOD(Watched, "a run that is issued while the runs are being ended waits for nothing") {
  program.plan.wait = TILEPOST_WAIT_STREAM;
  create(kDeadline);
  const auto wait_for = [](const auto& is) {
    const auto begin = Clock::now();
    while (!is() && Clock::now() - begin < std::chrono::seconds(5))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  const auto ends = [] { return sample::count_calls("cudaStreamWaitEvent user"); };
  world().collectives_hang = true;
  REQUIRE(run() == TILEPOST_OK);
  const int before = ends();
  std::atomic<bool> writes = false;
  world().gemm_posts_percent = 0;
  world().on_gemm = [&] { wait_for([&] { return writes.load(); }); };
  {
    const std::lock_guard lock(world().mutex);
    world().on_write = [&] {
      if (!writes.exchange(true)) wait_for([&] { return ends() > before; });
    };
  }
  CHECK(run() == TILEPOST_TIMEOUT);  // the call began before the failure
  CHECK(writes);
  CHECK(run() == TILEPOST_ABORTED);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_TIMEOUT);
  CHECK_FALSE(fakes::stream_of(user).hang.holds());
  release();
}

TEST_CASE_METHOD(Watched, "a watchdog that finds no host memory ends the runs") {
  create(kDeadline);
  world().collectives_hang = true;
  REQUIRE(run() == TILEPOST_OK);
  {
    const std::lock_guard lock(world().mutex);
    world().no_memory = true;
  }
  const auto begin = Clock::now();
  while (run() != TILEPOST_ABORTED && Clock::now() - begin < std::chrono::seconds(5))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK_THAT(tilepost_last_error(), Contains("out of host memory"));
  const std::lock_guard lock(world().mutex);
  world().no_memory = false;
}

TEST_CASE_METHOD(Watched,
                 "an operation that finds no host memory when it is destroyed still goes") {
  leaves_memory();  // nobody notices when the run has ended
  create();
  REQUIRE(run() == TILEPOST_OK);
  world().no_memory = true;
  CHECK(tilepost_op_destroy(std::exchange(setup.op, nullptr)) == TILEPOST_OK);
  world().no_memory = false;
  CHECK(world().aborted_comms > 0);
}

TEST_CASE_METHOD(Watched, "an operation that outlives CUDA ends nothing and calls NCCL no more") {
  leaves_memory();  // the communicators stay
  create(kDeadline);
  world().collectives_hang = true;
  REQUIRE(run() == TILEPOST_OK);
  {
    const std::lock_guard lock(world().mutex);
    world().unloaded = true;
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(2 * kDeadline));
  CHECK(tilepost_op_destroy(std::exchange(setup.op, nullptr)) == TILEPOST_OK);
  CHECK(tilepost_comm_destroy(std::exchange(setup.comm, nullptr)) == TILEPOST_OK);
  CHECK(world().aborted_comms == 0);
  CHECK(world().live_comms > 0);
}

TEST_CASE("std::exit stops the watchdogs before CUDA is taken down") {
  constexpr int kStillWatching = 42;
  const pid_t child = fork();
  if (child == 0) {
    fakes::reset();
    // It is registered before the watchdogs' end and so is called after it, as CUDA's is.
    std::atexit([] {
      world().reset_calls();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      const std::lock_guard lock(world().mutex);
      _exit(world().calls > 0 ? kStillWatching : 0);
    });
    auto* program = new Program;
    auto* setup = new Setup;  // nobody destroys it
    if (setup->create(*program, 1) != TILEPOST_OK) _exit(1);
    world().collectives_hang = true;
    if (run_on(*setup, fakes::user_stream("user")) != TILEPOST_OK) _exit(2);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::exit(3);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE_METHOD(Watched, "a forked process is told that it cannot use an operation") {
  create(kDeadline);
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = run() == TILEPOST_INVALID_ARGUMENT &&
                         std::string(tilepost_last_error()).find("forked") != std::string::npos &&
                         tilepost_op_synchronize(setup.op) == TILEPOST_INVALID_ARGUMENT &&
                         tilepost_op_destroy(setup.op) == TILEPOST_INVALID_ARGUMENT &&
                         tilepost_comm_destroy(setup.comm) == TILEPOST_INVALID_ARGUMENT;
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(run() == TILEPOST_OK);
}
