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

// What is decided before anything is put there, and what the objects that do so tell each other.
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
  GemmArguments gemm;  // of a rank that has rows
  bool begun;       // other ranks now expect this run, of which kernels beside the GEMM tell them
  bool ends_apart;  // these tell of its end on the communication stream, when its output is there

  const RunMap& run_map() const { return *map->run; }
  const RunPath& path() const { return run_map().path; }
  // Whether the communication stream brings the GEMM's input group by group, beside it.
  bool arrives() const { return path().arrives() && !path().completes; }
  // Whether the GEMM is launched for each group, behind what brings its input.
  bool launches_groups() const { return path().waits == Waits::launches; }
  // Whether the GEMM comes behind all steps.
  bool gathers_first() const { return path().waits == Waits::kernel; }
};

// The streams beside the caller's, and the events by which runs go to them and come back.
//
// Lane 0 is the communication stream. Where ranks exchange messages beside the GEMM there may be
// more, a communicator each; where they share memory, further lanes are the transport's own.
class Lanes {
 public:
  // With `num` lanes; 1 at least.
  tilepost_result_t create(int num);

  int num() const { return 1 + static_cast<int>(more_.size()); }
  // The communication stream.
  cudaStream_t stream() const { return comm_.get(); }
  cudaStream_t stream_of(int lane) const { return lane == 0 ? comm_.get() : more_[lane - 1].get(); }

  // Events of an eager run that forks later than where it begins, and of a captured one: events
  // that were captured cannot be queried any more.
  cudaEvent_t fork_event() const { return fork_.get(); }
  cudaEvent_t captured_fork_event() const { return captured_fork_.get(); }
  cudaEvent_t captured_end_event() const { return captured_end_.get(); }

  // That no capture but that of `user`, if it is being captured, has these streams until it ends: a
  // run that joins another would break it, half issued.
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
