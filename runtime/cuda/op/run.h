// One run, as it is put on the streams, and the streams beside the caller's.
#pragma once

#include <vector>

#include "runtime/cuda/device/launch.h"
#include "runtime/cuda/device/resources.h"
#include "runtime/cuda/op/device_map.h"
#include "runtime/cuda/registered/registered_outputs.h"
#include "runtime/cuda/transport/transport.h"
#include "runtime/cuda/watch/run_record.h"
#include "runtime/cuda/watch/watch_page.h"

namespace tilepost::cuda {

// The decisions about a run before any of it is put on a stream, and what the objects that put the
// run there pass to each other.
struct Run {
  Bank bank;
  const DeviceMap* map;
  const RunRecord* record;
  cudaStream_t user;      // the caller's stream, which has the GEMM
  cudaStream_t comm;      // lane 0: waits and collectives; equal to `user` if nothing is beside the
                          // GEMM
  cudaEvent_t begin;      // for the tracker, in eager runs
  cudaEvent_t fork, end;  // where the lanes begin, and where the run ends
  const tilepost_run_operands_t* operands;
  tilepost_epilogue_t epilogue;
  Buffers buffers;
  RegisteredOutput output;
  GemmArguments gemm;  // filled in if this rank has work to do
  bool begun;          // whether the run has begun for the other ranks, by a kernel of its own
  bool ends_apart;     // whether the end is announced to the ranks on the communication stream,
                       // behind `end`

  const RunMap& run_map() const { return *map->run; }
  const RunPath& path() const { return run_map().path; }
  // Whether the communication stream brings the GEMM's input group by group, beside the GEMM.
  bool input_arrives() const { return path().input_arrives() && !path().kernel_does_all; }
  // Whether the GEMM is launched for each group, behind the communication that brings the group's
  // input.
  bool launches_groups() const { return path().waits == Waits::launches; }
  // Whether the GEMM comes after all steps.
  bool gathers_first() const { return path().waits == Waits::kernel; }
};

// The streams beside the caller's, and the events by which runs go to them and come back.
//
// Lane 0 is the communication stream. Where ranks exchange messages beside the GEMM there may be
// more lanes, each with a communicator of its own. Where ranks share memory, further lanes belong
// to the transport.
class Lanes {
 public:
  // How many lanes an operation of the plan has. Input arrives in order, on one lane.
  static int num_of(const tilepost_plan_t& plan);

  // Makes `num` lanes, at least 1.
  tilepost_result_t create(int num);

  int num() const { return 1 + static_cast<int>(more_.size()); }
  // The communication stream.
  cudaStream_t stream() const { return comm_.get(); }
  cudaStream_t stream_of(int lane) const { return lane == 0 ? comm_.get() : more_[lane - 1].get(); }

  // fork_event() is for an eager run that forks later than it begins. Captured runs have events of
  // their own, because an event that was captured can no longer be queried.
  cudaEvent_t fork_event() const { return fork_.get(); }
  cudaEvent_t captured_fork_event() const { return captured_fork_.get(); }
  cudaEvent_t captured_end_event() const { return captured_end_.get(); }

  // Checks that these streams are in no capture, except that of `user` if `user` is being captured.
  // A run that joined another capture would fail when only a part of it was issued.
  tilepost_result_t check_free(cudaStream_t user) const;

  // Lets all lanes continue behind the run's fork.
  tilepost_result_t fork(const Run& run) const;
  // Lets lane 0 continue behind all other lanes.
  tilepost_result_t join(const Run& run) const;
  // Lets the caller's stream continue behind lane 0.
  tilepost_result_t rejoin(const Run& run) const;

 private:
  Stream comm_;
  std::vector<Stream> more_;  // the streams of lane 1 on
  std::vector<Event> ends_;   // [bank * num() + lane]
  Event fork_, captured_fork_, captured_end_;
};

}  // namespace tilepost::cuda
