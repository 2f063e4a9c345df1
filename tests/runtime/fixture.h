// What test cases start from: a new world of the fakes, and an operation in it. Any resource that
// still exists when a case ends is a leak.
#pragma once

#include <exception>
#include <string>

#include "tests/catch.h"
#include "tests/runtime/fakes.h"
#include "tests/runtime/sample.h"

// A new world for one case. Use it as a fixture, or as a local variable where a case needs several.
class OnFakes {
 public:
  OnFakes() { fakes::reset(); }
  // Leaks are not checked where an exception ends the case, which may have left anything.
  ~OnFakes() noexcept(false) {
    fakes::return_all();
    CHECK(fakes::world().freed_while_mapped == 0);
    if (!leaves_memory_ && std::uncaught_exceptions() == 0) CHECK(fakes::world().live() == 0);
  }
  OnFakes(const OnFakes&) = delete;
  OnFakes& operator=(const OnFakes&) = delete;

  // For cases with failures after which the runtime leaves memory to the process on purpose.
  void leaves_memory() { leaves_memory_ = true; }

 private:
  bool leaves_memory_ = false;
};

// A program, and an operation on rank 1: edit `program`, then create().
class Operation : public OnFakes {
 public:
  sample::Program program;
  sample::Setup setup;
  CUstream_st* const user = fakes::user_stream("user");

  // Makes the operation, which must succeed.
  void create(double deadline_seconds = 0, int rank = 1) {
    const tilepost_result_t result = setup.create(program, deadline_seconds, rank);
    INFO(tilepost_last_error());
    REQUIRE(result == TILEPOST_OK);
  }
  // Makes the operation without a deadline, and with `schedule_bytes` bytes for schedules.
  void create_with(int64_t schedule_bytes) {
    setup.schedule_bytes = schedule_bytes;
    create();
  }
  // Destroys the operation and its communicator before the case ends.
  void release() { setup.release(); }
  // A run on `user` with m rows.
  tilepost_result_t run(int64_t m = TILEPOST_PLANNED_M) const {
    return sample::run_on(setup, user, m);
  }
  tilepost_result_t run_with(const tilepost_run_operands_t& operands) const {
    return tilepost_op_run_with(setup.op, &operands, user);
  }
  // A run that must succeed. The log then has its calls alone.
  void run_logged(const tilepost_run_operands_t& operands = sample::operands()) const {
    fakes::world().reset_calls();
    REQUIRE(run_with(operands) == TILEPOST_OK);
  }
  tilepost_result_t run_captured(int64_t m = TILEPOST_PLANNED_M) const {
    const fakes::Capture capture(user);
    return run(m);
  }
  tilepost_op_info_t info() const {
    tilepost_op_info_t info{};
    REQUIRE(tilepost_op_get_info(setup.op, &info) == TILEPOST_OK);
    return info;
  }
};

// Makes each call to CUDA, to NCCL and to the runtime's kernels fail in turn.
class FailingCalls {
 public:
  // Calls round(operation) once without a failure and then once per call to fail, each time with a
  // new operation, which the round has to create. A round calls attempt() once.
  template <class Round>
  void in_turn(Round round) {
    for (number_ = 0; number_ <= calls_; ++number_) {
      Operation operation;
      round(operation);
    }
  }

  // Executes the part of a round whose calls may fail. It must fail if and only if a call failed
  // that is not one of `harmless`.
  template <class Body>
  tilepost_result_t attempt(Body body, const std::string& harmless = "") {
    fakes::World& world = fakes::world();
    world.reset_calls();
    world.fail_at = number_;
    const tilepost_result_t result = body();
    text_ = tilepost_last_error();
    if (number_ == 0) calls_ = world.calls;
    world.fail_at = 0;
    INFO(what());
    const bool failed = !world.failed_call.empty() && world.failed_call != harmless;
    CHECK((result != TILEPOST_OK) == failed);
    return result;
  }

  // Which call fails, counted from 1, its name, and the text of the error.
  std::string what() const {
    return "call " + std::to_string(number_) + ": " + fakes::world().failed_call + ": " + text_;
  }
  int number() const { return number_; }
  // The number of calls that can fail.
  int calls() const { return calls_; }

 private:
  int number_ = 0, calls_ = 0;
  std::string text_;
};

// A round whose create() may fail. Then there is no operation, and the text names the place.
inline void check_failing_create(FailingCalls& failing, Operation& op) {
  const tilepost_result_t result = failing.attempt([&] { return op.setup.create(op.program); });
  INFO(failing.what());
  CHECK((result == TILEPOST_OK) == (op.setup.op != nullptr));
  if (result != TILEPOST_OK) CHECK_THAT(tilepost_last_error(), Catch::Contains("runtime/cuda/"));
}
