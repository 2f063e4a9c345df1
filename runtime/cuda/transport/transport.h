// How the steps of a group (runtime/map/steps.h) get to the other ranks, and what an operation is
// given for that. One file per transport; a new one is a file and a row in transport.cpp.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/cuda/shared/service.h"
#include "runtime/cuda/transport/arrivals.h"
#include "runtime/cuda/transport/comm.h"
#include "runtime/cuda/transport/window_memory.h"
#include "runtime/map/steps.h"

namespace tilepost::cuda {

// What steps read and write: device pointers. A pointer that a run's pattern has no use for is
// null.
struct Buffers {
  void* send;      // where the kernel stores
  void* out;       // what steps receive into: the caller's out, or the consumer's input
  const void* a;   // where rows of A move: this rank's rows, as steps take them
  void* gathered;  // where rows of A move: all rows that this rank multiplies
  void* scratch;   // what a reduce_scatter receives beyond what may be written to out; null where
                   // `out` has room for that too
  void* reduced;   // where an all_reduce writes: `send`, or out
  void* result;  // the caller's out where what was received, or reduced, is yet to be copied there
};

// A group of a run, as a transport gets it.
struct GroupRun {
  std::span<const Step> steps;
  int group = 0;
  int lane = 0;
  uint32_t chunks = 0;  // of the group's tasks (tilepost_tasks_t)
};

// Groups of rows of A that a transport waits for and posts, kMostArrivals at most.
struct ArrivingGroups {
  std::span<const std::vector<Step>> steps;  // of each group
  int first = 0, lane = 0;                   // group; all are on one lane
  std::span<const Step> own_first;  // own rows to bring before the first post of others' rows
  std::span<const Step> own_last;   // and before the post of the last group; one step each at most
  PostArguments post{};             // of the first group, but `behind` is the last one's
};

// One way to communicate. Puts work on streams; all of it may be captured. Called by the thread
// that issues runs.
class Transport {
 public:
  virtual ~Transport() = default;

  // Does on every lane once what runs do, without a GEMM, so that nothing has to be loaded or
  // connected while something waits. Steps that are messages are warmed up by communicate().
  virtual tilepost_result_t warm_up(cudaStream_t /*stream*/) { return TILEPOST_OK; }

  // Begin a run before it touches memory that ranks share, and end it after everything that belongs
  // to it: SharedService::begin and end.
  virtual tilepost_result_t begin(const RunBeginning& /*beginning*/, cudaStream_t /*stream*/) {
    return TILEPOST_OK;
  }
  virtual tilepost_result_t end(cudaStream_t /*stream*/) { return TILEPOST_OK; }

  // Enqueues the steps of one group on its lane. Allocates nothing once warming up has seen such
  // steps on this lane. TILEPOST_ABORTED after the operation's communication was aborted.
  virtual tilepost_result_t communicate(const Buffers& buffers, const GroupRun& run,
                                        cudaStream_t stream) = 0;

  // Where input arrives: whether the transport posts it. If not, what follows communicate() in its
  // stream does.
  virtual bool posts() const { return false; }
  // Requires posts(). Enqueues what waits for the groups and posts them. communicate() has already
  // enqueued this rank's copies for the first group of other ranks' rows, and may enqueue the rest
  // behind this.
  virtual tilepost_result_t arrive(const Buffers& /*buffers*/, const ArrivingGroups& /*arrivals*/,
                                   cudaStream_t /*stream*/) {
    return fail(TILEPOST_INTERNAL_ERROR, "this transport posts no groups");
  }

  // What comes on `stream` from here on follows all that communicate() has enqueued in this run.
  virtual tilepost_result_t rejoin(cudaStream_t /*stream*/) { return TILEPOST_OK; }

  // Called at the end, when this rank's runs are over: SharedService::close.
  virtual void close(bool /*failed*/) {}
};

// What an operation communicates with: its ways to do so, and what they need besides. Owns all of
// it. A transport's maker fills in what it has (transport.cpp).
class Transports {
 public:
  // The way of runs that overlap, or of those that do not. Requires that the plan has such runs.
  Transport& of(bool overlaps) const { return overlaps ? *overlapping : *sequence; }

  // ControlChannel::exchange. Requires a channel: any pattern but gemm has one.
  tilepost_result_t exchange(const int64_t* from, int64_t* to, size_t count, cudaStream_t stream);
  // Check, and abort, all channels.
  tilepost_result_t check_async();
  void abort();

  // Called at the end. `failed`: a run has failed, or making the operation has. `stuck`: the device
  // has not come back from that, so memory that it may still use is left to the process. Gives up
  // what belongs to the current device.
  void close(bool failed, bool stuck);

  // All are watched; the first one is how ranks tell each other numbers (Communicator::control).
  std::vector<std::shared_ptr<ControlChannel>> channels;
  std::unique_ptr<SharedService> shared;  // null where ranks exchange messages
  std::unique_ptr<WindowMemory> windows;  // null where the plan needs no windows of NCCL
  // The ways to communicate: before or after the GEMM, and beside it. A plan for any number of rows
  // may have both and chooses by run.
  std::unique_ptr<Transport> sequence, overlapping;
};

// What a transport is made of. `plan` outlives it.
struct TransportSetup {
  Communicator& comm;
  const tilepost_plan_t& plan;
  double deadline_seconds;   // of waits for other ranks; 0: for ever
  SharedArenas& arenas;      // of the operations with which it may share memory
  bool share_memory;         // with these
  const PlanRanges& family;  // plans whose operations are one to the caller: this one, and others
};

// Makes a plan's transports. Collective over the ranks of the communicator, unless the plan's
// pattern is gemm. Waits for the other ranks; where they share memory or windows, no longer than
// the deadline.
tilepost_result_t make_transports(const TransportSetup& setup, Transports& transports);

// The makers that make_transports() has rows for. Each makes the plan's way to overlap, and the way
// of runs in sequence where the plan has such runs. Collective but for `local`.
tilepost_result_t make_local(const TransportSetup& setup, Transports& transports);
tilepost_result_t make_none(const TransportSetup& setup, Transports& transports);
tilepost_result_t make_nccl(const TransportSetup& setup, Transports& transports);
tilepost_result_t make_nccl_symmetric(const TransportSetup& setup, Transports& transports);
tilepost_result_t make_copy_engine(const TransportSetup& setup, Transports& transports);
tilepost_result_t make_peer(const TransportSetup& setup, Transports& transports);

}  // namespace tilepost::cuda
