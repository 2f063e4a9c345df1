// What cases start from: the fakes' world made anew, and an operation in it. Whatever is left of it
// when a case ends is a leak.
#pragma once

#include <exception>
#include <string>

#include "tests/catch.h"
#include "tests/runtime/fakes.h"
#include "tests/runtime/sample.h"

// A world of its own. Use it as a fixture, or as a local where a case needs several.
class OnFakes {
 public:
  OnFakes() { fakes::reset(); }
  // Not where an exception ends the case: it may have left anything.
  ~OnFakes() noexcept(false) {
    fakes::return_all();
    CHECK(fakes::world().freed_while_mapped == 0);
    if (!leaves_memory_ && std::uncaught_exceptions() == 0) CHECK(fakes::world().live() == 0);
  }
  OnFakes(const OnFakes&) = delete;
  OnFakes& operator=(const OnFakes&) = delete;

  // For failures after which memory is left to the process, on purpose.
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

  // Must succeed.
  void create(double deadline_seconds = 0, int rank = 1) {
    const tilepost_result_t result = setup.create(program, deadline_seconds, rank);
    INFO(tilepost_last_error());
    REQUIRE(result == TILEPOST_OK);
  }
  // Without a deadline, with so many bytes for schedules.
  void create_with(int64_t schedule_bytes) {
    setup.schedule_bytes = schedule_bytes;
    create();
  }
  // Destroys the operation and its communicator before the case ends.
  void release() { setup.release(); }
  // A run on `user` of m rows, or of the plan's.
  tilepost_result_t run(int64_t m = TILEPOST_PLANNED_M) const {
    return sample::run_on(setup, user, m);
  }
  tilepost_result_t run_with(const tilepost_run_operands_t& operands) const {
    return tilepost_op_run_with(setup.op, &operands, user);
  }
  // A run that must succeed, of which alone the log tells.
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

// Lets every call fail in turn that something makes of CUDA, NCCL and the runtime's kernels.
class FailingCalls {
 public:
  // Does round(operation) once without a failure and then once per call, with an operation of its
  // own that it is to create. A round calls attempt() once.
  template <class Round>
  void in_turn(Round round) {
    for (number_ = 0; number_ <= calls_; ++number_) {
      Operation operation;
      round(operation);
    }
  }

  // The part of a round whose calls fail: it has to fail if and only if one did, `harmless` ones
  // apart.
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

  // Which call fails, counted from 1, and what came of it.
  std::string what() const {
    return "call " + std::to_string(number_) + ": " + fakes::world().failed_call + ": " + text_;
  }
  int number() const { return number_; }
  // How many calls there are.
  int calls() const { return calls_; }

 private:
  int number_ = 0, calls_ = 0;
  std::string text_;
};

// A round of which create() is the part that fails: there is an operation or a place and a text.
inline void check_failing_create(FailingCalls& failing, Operation& op) {
  const tilepost_result_t result = failing.attempt([&] { return op.setup.create(op.program); });
  INFO(failing.what());
  CHECK((result == TILEPOST_OK) == (op.setup.op != nullptr));
  if (result != TILEPOST_OK) CHECK_THAT(tilepost_last_error(), Catch::Contains("runtime/cuda/"));
}
