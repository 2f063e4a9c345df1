// One run, as it is put on the streams, and the streams beside the caller's that it is put on.
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

// What is decided about a run before any of it is put on a stream, and what the objects that put it
// there tell each other.
struct Run {
  Bank bank;
  const DeviceMap* map;
  const RunRecord* record;
  cudaStream_t user;      // has the GEMM
  cudaStream_t comm;      // lane 0: waits and collectives; the same when nothing is beside the GEMM
  cudaEvent_t begin;      // eager runs: for the tracker
  cudaEvent_t fork, end;  // where the lanes begin, and the run ends
  const tilepost_run_operands_t* operands;
  tilepost_epilogue_t epilogue;
  Buffers buffers;
  RegisteredOutput output;
  GemmArguments gemm;  // filled in if this rank has work to do
  bool begun;          // other ranks expect this run now: kernels beside the GEMM tell them of it
  bool ends_apart;     // ranks are told of its end behind `end`, on the communication stream

  const RunMap& run_map() const { return *map->run; }
  const RunPath& path() const { return run_map().path; }
  // Whether the communication stream brings the GEMM's input group by group, beside it.
  bool input_arrives() const { return path().input_arrives() && !path().kernel_does_all; }
  // Whether the GEMM is launched for each group, behind what brings its input.
  bool launches_groups() const { return path().waits == Waits::launches; }
  // Whether the GEMM comes behind all steps.
  bool gathers_first() const { return path().waits == Waits::kernel; }
};

// The streams beside the caller's, and the events by which runs go to them and come back.
//
// Lane 0 is the communication stream. Where ranks exchange messages beside the GEMM there may be
// more lanes, each with a communicator of its own. Where ranks share memory, further lanes belong
// to the transport.
class Lanes {
 public:
  // Makes `num` lanes, at least 1.
  tilepost_result_t create(int num);

  int num() const { return 1 + static_cast<int>(more_.size()); }
  // The communication stream.
  cudaStream_t stream() const { return comm_.get(); }
  cudaStream_t stream_of(int lane) const { return lane == 0 ? comm_.get() : more_[lane - 1].get(); }

  // fork_event() is for an eager run that forks later than it begins. Captured runs have events of
  // their own, because an event that was captured cannot be queried any more.
  cudaEvent_t fork_event() const { return fork_.get(); }
  cudaEvent_t captured_fork_event() const { return captured_fork_.get(); }
  cudaEvent_t captured_end_event() const { return captured_end_.get(); }

  // Checks that these streams are in no capture, except that of `user` if `user` is being captured.
  // A run that joined another capture would break it, half issued.
  tilepost_result_t check_free(cudaStream_t user) const;

  // All lanes go on behind the run's fork.
  tilepost_result_t fork(const Run& run) const;
  // Lane 0 goes on behind all others.
  tilepost_result_t join(const Run& run) const;
  // The caller's stream goes on behind lane 0.
  tilepost_result_t rejoin(const Run& run) const;

 private:
  Stream comm_;
  std::vector<Stream> more_;  // the streams of lane 1 on
  std::vector<Event> ends_;   // [bank * num() + lane]
  Event fork_, captured_fork_, captured_end_;
};

}  // namespace tilepost::cuda
