// The objects behind the C handles: one interface, which the CUDA and the host target implement.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <span>

#include "tilepost/routing.h"
#include "tilepost/tilepost.h"

namespace tilepost {
struct RoutingTerms;
}

// Remembers the process that made a handle. A child of fork() cannot use the handle, because
// threads and a target's device state do not survive fork().
struct tilepost_owned {
  const pid_t process = getpid();
};

// One rank of a communicator.
struct tilepost_comm : tilepost_owned {
  virtual ~tilepost_comm() = default;

  // The number of operations and routings of the communicator. The C entry points count them.
  std::shared_ptr<std::atomic<int>> live_ops = std::make_shared<std::atomic<int>>(0);

  // Makes an operation. The caller has checked that no argument is null and that the program's ABI
  // version is right. `options` is complete, with schedule_bytes not 0.
  virtual tilepost_result_t create_op(const tilepost_program_t& program,
                                      const tilepost_options_t& options,
                                      std::unique_ptr<tilepost_op>& op) = 0;
  // Finds what create_op would allocate (tilepost_program_memory) for programs that are made one
  // after the other, with the same arguments.
  virtual tilepost_result_t memory_of(std::span<const tilepost_program_t> programs,
                                      const tilepost_options_t& options,
                                      tilepost_memory_t& memory) = 0;
  // Makes a routing (tilepost/routing.h). The options are complete and right. The target checks the
  // other terms (runtime/core/routing/routing.h).
  virtual tilepost_result_t create_routing(const tilepost::RoutingTerms& terms,
                                           std::unique_ptr<tilepost_expert_routing>& routing) = 0;
};

// What is made of a communicator, which is not destroyed before.
struct tilepost_counted : tilepost_owned {
  virtual ~tilepost_counted() {
    if (live_ops) --*live_ops;
  }

  // The communicator's counter. It is null until the object is handed to the caller.
  std::shared_ptr<std::atomic<int>> live_ops;
};

// One operation on one rank. Its destructor waits for the runs, within the deadline.
struct tilepost_op : tilepost_counted {
  // Checks what this rank brings to a run, and starts nothing: the operands (operands.h), their
  // device and the stream.
  virtual tilepost_result_t check(const tilepost_run_operands_t& operands, CUstream_st* stream) = 0;
  // Checks the same, and starts the run.
  virtual tilepost_result_t run(const tilepost_run_operands_t& operands, CUstream_st* stream) = 0;
  // The caller has checked that `route` is not null and that both structures have the right size.
  // route.h checks the rest.
  virtual tilepost_result_t route(const tilepost_route_t& route, tilepost_arrivals_t* arrivals) = 0;
  // `buffer` may be null, so that all ranks learn of that error (registration.h).
  virtual tilepost_result_t register_output(void* buffer, int64_t bytes) = 0;
  virtual tilepost_result_t unregister_output(const void* buffer) = 0;
  virtual tilepost_result_t status() = 0;
  virtual tilepost_result_t synchronize() = 0;
  virtual tilepost_result_t get_info(tilepost_op_info_t& info) = 0;
  // Adds what the operation has allocated to `memory`.
  virtual void add_memory(tilepost_memory_t& memory) = 0;
  // Whether runs of m rows overlap. `m` may be any number; rows_of_run (operands.h) checks it.
  virtual tilepost_result_t find_overlap(int64_t m, bool& overlaps) = 0;

  // tilepost/timeline.h. `path` is not null. A target without a device's clock refuses both calls.
  virtual tilepost_result_t record_timeline() = 0;
  virtual tilepost_result_t write_timeline(const char* path) = 0;

  // One line per warning; lives as long as the operation.
  virtual const char* warnings() { return ""; }
};
