// How the steps of a group (runtime/map/steps.h) get to the other ranks, and what an operation
// needs for that. Each transport has a file. A new transport is a file and a row in transport.cpp.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/cuda/shared/host/host_rings.h"
#include "runtime/cuda/shared/service.h"
#include "runtime/cuda/transport/arrivals.h"
#include "runtime/cuda/transport/comm.h"
#include "runtime/cuda/transport/window_memory.h"
#include "runtime/cuda/watch/nvtx.h"
#include "runtime/map/steps.h"

namespace tilepost::cuda {

// The memory that steps read and write: device pointers. A pointer is null if a run's pattern does
// not need it.
struct Buffers {
  void* send;      // where the kernel stores
  void* out;       // where steps receive: the caller's out, or the consumer's input
  const void* a;   // where rows of A move: this rank's rows, as steps take them
  void* gathered;  // where rows of A move: all rows that this rank multiplies
  // Where scales move with rows of A (MovedScales): those of `a` and of `gathered`.
  const float* scales;
  float* gathered_scales;
  void* scratch;  // where a reduce_scatter receives if not all of it may be written to out; null
                  // if `out` has room for all of it
  void* reduced;  // where an all_reduce writes: `send`, or out
  void* result;   // the caller's out, if results are yet to be copied there
};

// A group of a run, as a transport gets it.
struct GroupRun {
  std::span<const Step> steps;
  int group = 0;
  int lane = 0;
  uint32_t chunks = 0;  // of the group's tasks (tilepost_tasks_t)
  // The group's line of times (timeline_words.h), for a transport with streams of its own; null
  // where nothing is recorded.
  uint64_t* stamps = nullptr;
};

// Groups of rows of A that a transport waits for and posts, at most kMostArrivals.
struct ArrivingGroups {
  std::span<const std::vector<Step>> steps;  // the steps of each group
  int first = 0, lane = 0;                   // the first group, and the lane of all of them
  std::span<const Step> own_first;  // own rows to bring before the first post of others' rows
  std::span<const Step> own_last;   // own rows to bring before the last post; at most one step in
                                    // each list
  PostArguments post{};             // of the first group, but `behind` is the last one's
  uint64_t* stamps = nullptr;       // of the first group: GroupRun::stamps
};

// One way to communicate. It puts work on streams, all of which may be captured. The thread that
// issues runs calls it.
class Transport {
 public:
  virtual ~Transport() = default;

  // Does the work of runs once on every lane, without a GEMM, so that nothing has to be loaded or
  // connected while something waits. Steps that are messages are warmed up by communicate().
  virtual tilepost_result_t warm_up(cudaStream_t /*stream*/) { return TILEPOST_OK; }

  // Begin a run before it touches memory that ranks share, and end it after all of its work:
  // SharedService::begin and end.
  virtual tilepost_result_t begin(const RunBeginning& /*beginning*/, cudaStream_t /*stream*/) {
    return TILEPOST_OK;
  }
  virtual tilepost_result_t end(bool /*captured*/, cudaStream_t /*stream*/) { return TILEPOST_OK; }

  // Enqueues the steps of one group on its lane. Allocates nothing once warming up has seen such
  // steps on this lane. Returns TILEPOST_ABORTED after the operation's communication was aborted.
  virtual tilepost_result_t communicate(const Buffers& buffers, const GroupRun& run,
                                        cudaStream_t stream) = 0;

  // Whether the transport posts input that arrives. If not, the caller posts it behind
  // communicate(), on the same stream.
  virtual bool posts() const { return false; }
  // Enqueues the work that waits for the groups and posts them. Requires posts(). communicate() has
  // already enqueued this rank's copies for the first group of other ranks' rows, and may enqueue
  // the rest behind this call.
  virtual tilepost_result_t arrive(const Buffers& /*buffers*/, const ArrivingGroups& /*arrivals*/,
                                   cudaStream_t /*stream*/) {
    return fail(TILEPOST_INTERNAL_ERROR, "this transport posts no groups");
  }

  // Lets later work on `stream` follow all work that communicate() has enqueued in this run.
  virtual tilepost_result_t rejoin(cudaStream_t /*stream*/) { return TILEPOST_OK; }

  // Names the streams that runs use besides those of their caller.
  virtual void name_streams(const NvtxNames& /*nvtx*/) const {}

  // Adds what the transport has allocated for itself.
  virtual void add_memory(tilepost_memory_t& /*memory*/) const {}

  // Called at the end, when this rank's runs are over: SharedService::close. `stuck`:
  // Transports::close.
  virtual void close(bool /*failed*/, bool /*stuck*/) {}
};

// An operation's transports, and the channels and memory that they need. It owns all of them. A
// transport's maker fills in its own (transport.cpp).
class Transports {
 public:
  // The transport of runs that overlap, or of runs that do not. Requires that the plan has such
  // runs.
  Transport& of(bool overlaps) const { return overlaps ? *overlapping : *sequence; }

  // Calls ControlChannel::exchange of the first channel. Every pattern but gemm has a channel.
  tilepost_result_t exchange(const int64_t* from, int64_t* to, size_t count, cudaStream_t stream);
  // Check, and abort, all channels.
  tilepost_result_t check_async();
  void abort();

  // Called at the end. `failed`: whether a run has failed, or making the operation has. `stuck`:
  // whether the device has not recovered, so that memory that it may still use is left to the
  // process. Gives up everything that belongs to the current device.
  void close(bool failed, bool stuck);

  // Adds what these have allocated for the plan's operation, but for `rings`, which operations of
  // one family share.
  void add_memory(tilepost_memory_t& memory) const;

  // All channels are watched. Through the first one ranks exchange numbers (Communicator::control).
  std::vector<std::shared_ptr<ControlChannel>> channels;
  std::unique_ptr<SharedService> shared;  // null if ranks exchange messages
  std::unique_ptr<WindowMemory> windows;  // null if the plan needs no windows of NCCL
  std::shared_ptr<HostRings> rings;       // null if nothing goes through host memory
  // The transports of runs in sequence and of runs that overlap. A plan for any number of rows may
  // have both, and each run chooses one.
  std::unique_ptr<Transport> sequence, overlapping;
};

// The arguments that make a transport. `plan` outlives the transport.
struct TransportSetup {
  Communicator& comm;
  const tilepost_plan_t& plan;
  double deadline_seconds;   // the deadline of waits for other ranks; 0: for ever
  SharedArenas& arenas;      // the arenas of the operations with which this one may share memory
  bool share_memory;         // whether it shares memory with these operations
  const PlanRanges& family;  // all plans of the caller's operation, this one among them
  std::shared_ptr<HostRings>&
      host_rings;  // of the caller's operation; null until a plan needs them
};

// Makes a plan's transports. Collective over the ranks of the communicator, unless the plan's
// pattern is gemm. Waits for the other ranks, and if they share memory or windows, no longer than
// the deadline.
tilepost_result_t make_transports(const TransportSetup& setup, Transports& transports);

// The makers in the table of make_transports(). Each makes the plan's transport for runs that
// overlap, and the transport for runs in sequence if the plan has such runs. All but make_local()
// are collective.
tilepost_result_t make_local(const TransportSetup& setup, Transports& transports);
tilepost_result_t make_none(const TransportSetup& setup, Transports& transports);
tilepost_result_t make_nccl(const TransportSetup& setup, Transports& transports);
tilepost_result_t make_nccl_symmetric(const TransportSetup& setup, Transports& transports);
tilepost_result_t make_host_copies(const TransportSetup& setup, Transports& transports);
tilepost_result_t make_copy_engine(const TransportSetup& setup, Transports& transports);
tilepost_result_t make_peer(const TransportSetup& setup, Transports& transports);

}  // namespace tilepost::cuda
