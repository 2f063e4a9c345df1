// What the C handles point to: one interface, implemented by the CUDA and the host target.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>

#include "tilepost/tilepost.h"

// Whose handle it is: threads, and what a target has of a device, do not survive fork().
struct tilepost_owned {
  const pid_t process = getpid();
};

// One rank of a communicator.
struct tilepost_comm : tilepost_owned {
  virtual ~tilepost_comm() = default;

  // How many operations it has, counted by api.cpp.
  std::shared_ptr<std::atomic<int>> live_ops = std::make_shared<std::atomic<int>>(0);

  // Makes an operation; arguments are non-null, program's ABI version is right, options complete
  // and schedule_bytes not 0.
  virtual tilepost_result_t create_op(const tilepost_program_t& program,
                                      const tilepost_options_t& options,
                                      std::unique_ptr<tilepost_op>& op) = 0;
};

// One operation on one rank. Destruction waits for the runs, within the deadline.
struct tilepost_op : tilepost_owned {
  virtual ~tilepost_op() {
    if (live_ops) --*live_ops;
  }

  // Its communicator's, from when the caller has it.
  std::shared_ptr<std::atomic<int>> live_ops;

  // a, b and out have been checked to be non-null; what the plan asks for besides (operands.h),
  // alignment and device are the target's business.
  virtual tilepost_result_t run(const tilepost_run_operands_t& operands, CUstream_st* stream) = 0;
  // The structures have been checked to be there and of the right size; route.h checks the rest.
  virtual tilepost_result_t route(const tilepost_route_t& route, tilepost_arrivals_t* arrivals) = 0;
  // `buffer` may be null: all ranks are told so (registration.h).
  virtual tilepost_result_t register_output(void* buffer, int64_t bytes) = 0;
  virtual tilepost_result_t unregister_output(const void* buffer) = 0;
  virtual tilepost_result_t status() = 0;
  virtual tilepost_result_t synchronize() = 0;
  virtual tilepost_result_t get_info(tilepost_op_info_t& info) = 0;

  // One line per warning; lives as long as the operation.
  virtual const char* warnings() { return ""; }
};
