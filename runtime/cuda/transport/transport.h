// How the steps of a group (tilepost/steps.h) get to the other ranks. One file per transport; a new
// one is a class, a file and a line in make_transports().
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "runtime/cuda/transport/comm.h"
#include "runtime/cuda/watch/watch_page.h"
#include "runtime/map/steps.h"

namespace tilepost::cuda {

class SharedRegions;
class WindowMemory;

// What steps read and write, device pointers; those that a run's pattern has no use for are null.
struct Buffers {
  void* send;      // where the kernel stores
  void* out;       // what steps receive into: the caller's out, or the consumer's input
  const void* a;   // all_gather_gemm: this rank's rows
  void* gathered;  // all_gather_gemm: all ranks' rows
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

class Transport {
 public:
  virtual ~Transport() = default;

  // Before the GEMM of a run that uses memory which ranks share, and after everything that belongs
  // to it. `targets`: device memory, by counter, what all ranks add to this rank's counters
  // (TILEPOST_ACCESS_WRITE); null elsewhere, and `counters` then are groups. May be captured, as
  // what follows.
  virtual tilepost_result_t begin(const uint32_t* /*targets*/, int /*counters*/,
                                  cudaStream_t /*stream*/) {
    return TILEPOST_OK;
  }
  virtual tilepost_result_t end(cudaStream_t /*stream*/) { return TILEPOST_OK; }

  // What comes on `stream` from here on follows all that communicate() has enqueued in this run.
  virtual tilepost_result_t rejoin(cudaStream_t /*stream*/) { return TILEPOST_OK; }

  // Whether communicate() itself, or a task of the kernel, waits for the tiles of a group, which
  // all ranks store (TILEPOST_ACCESS_WRITE).
  virtual bool waits_for_tiles() const { return false; }

  // What the tasks of all runs have in common: where they read, unless the run says so, what they
  // wait for and count.
  virtual tilepost_tasks_t tasks() const { return {}; }

  // Where tasks wait for tiles, which tell nobody: the first group of the run under way whose tiles
  // are not all stored here. Nothing where they are, or where that cannot be found out.
  virtual std::optional<OpenWait> find_missing_tiles() { return {}; }

  // The operation's regions of memory that ranks share; null where they exchange messages.
  virtual const SharedRegions* shared() const { return nullptr; }

  // What was allocated for this operation of memory that ranks share.
  virtual int64_t shared_bytes() const { return 0; }

  // Of operations that share memory: whose turn it is. Null of others.
  virtual RunOrder* order() { return nullptr; }
  // Set when a run of one of them has failed; null where there are none.
  virtual AbortedFlag aborted() const { return nullptr; }

  // The memory that NCCL was asked to know as a window; null where it was not.
  virtual const WindowMemory* windows() const { return nullptr; }

  // Where waits on the device say that they gave up, and after how long they do; 0: never. Before
  // anything else is asked for.
  virtual void report_to(WatchPage* /*page*/, double /*deadline_seconds*/) {}

  // Does on every lane once what runs do, without a GEMM, so that nothing has to be loaded or
  // connected while something waits. Steps that are messages are warmed up by communicate().
  virtual tilepost_result_t warm_up(cudaStream_t /*stream*/) { return TILEPOST_OK; }

  // At the end, when this rank's runs are over. Waits, within the deadline, until the other ranks
  // are through with this rank's memory; or leaves that to the process, where they may never be:
  // after a failure, also of the operation's making.
  virtual void close(bool /*failed*/) {}

  // After a failure that the device has not come back from: what it may still use is left to the
  // process.
  virtual void leak() {}

  // Enqueues the steps of one group on the communicator of its lane. Allocates nothing once warm_up
  // has seen the like of them on this lane.
  virtual tilepost_result_t communicate(const Buffers& buffers, const GroupRun& run,
                                        cudaStream_t stream) = 0;

  // Every rank's `count` numbers to every rank: `from` [count], `to` [ranks, count], device
  // pointers. On the communicator of lane 0.
  virtual tilepost_result_t exchange(const int64_t* from, int64_t* to, size_t count,
                                     cudaStream_t stream) = 0;

  // TILEPOST_OK, or what went wrong in the background. Called by the watchdog.
  virtual tilepost_result_t check_async() = 0;

  // Ends what has been enqueued, also where it hangs; communicate() then returns TILEPOST_ABORTED.
  // Called by any thread.
  virtual void abort() = 0;
};

// A plan's two ways to communicate: beside the GEMM, and before or after it. A plan for any number
// of rows may have both and chooses by run.
class Transports {
 public:
  // For a run that overlaps, or does not. Requires that the plan has such runs.
  Transport& of(bool overlaps) const { return overlaps ? *overlapping : *sequence; }

  tilepost_result_t check_async() {
    if (overlapping) TILEPOST_TRY(overlapping->check_async());
    return sequence ? sequence->check_async() : TILEPOST_OK;
  }
  void abort() {
    if (overlapping) overlapping->abort();
    if (sequence) sequence->abort();
  }

  // Where ranks share memory, runs that overlap use the other way too: to tell each other addresses
  // and numbers. So it goes last.
  std::unique_ptr<Transport> sequence, overlapping;
};

// Collective over the ranks of `comm`, unless the plan's pattern is gemm; waits for them, where
// they share memory no longer than the options' deadline. `plan` outlives the transports.
tilepost_result_t make_transports(CudaComm& comm, const tilepost_plan_t& plan,
                                  const tilepost_options_t& options, Transports& transports);

// What the pattern's steps are called in messages: "AllReduce"; "" for gemm.
const char* collective_name(tilepost_pattern_t pattern);

// The makers that make_transports() chooses from.
tilepost_result_t make_nccl_transport(CudaComm& comm, const tilepost_plan_t& plan,
                                      std::unique_ptr<Transport>& transport);
// Waits for the other ranks no longer than `deadline_seconds` (0: for ever).
tilepost_result_t make_nccl_symmetric_transport(CudaComm& comm, const tilepost_plan_t& plan,
                                                double deadline_seconds,
                                                std::unique_ptr<Transport>& transport);
tilepost_result_t make_none_transport(CudaComm& comm, const tilepost_plan_t& plan,
                                      std::unique_ptr<Transport>& transport);
std::unique_ptr<Transport> make_local_transport();

// How ranks that share memory come to know of each other, for how long they wait then, and whether
// the operation shares the memory with others. `messages` outlives the transport.
struct SharedSetup {
  Transport& messages;
  double deadline_seconds;
  bool shares;
};
tilepost_result_t make_copy_engine_transport(CudaComm& comm, const tilepost_plan_t& plan,
                                             const SharedSetup& others,
                                             std::unique_ptr<Transport>& transport);
tilepost_result_t make_peer_transport(CudaComm& comm, const tilepost_plan_t& plan,
                                      const SharedSetup& others,
                                      std::unique_ptr<Transport>& transport);

}  // namespace tilepost::cuda
