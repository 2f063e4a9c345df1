// The state by which operations of a communicator keep their runs apart: an order, and a flag for
// failures.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/cuda/device/resources.h"

namespace tilepost::cuda {

// Set when an operation has failed whose failure affects others. Any thread may read it.
using AbortedFlag = std::shared_ptr<std::atomic<bool>>;

// The order of runs of several operations. It is the order of the host's calls, which is the same
// on all ranks. An *exclusive* run has the device for itself: it begins when all runs before it
// have ended, and no run behind it begins before it has ended. Other runs may overlap.
//
// In the order of a communicator those runs are exclusive whose kernel waits for other ranks while
// it holds SMs (RunPath::waits_on_sms). docs/internals/transports.md proves that no run then keeps
// another from ending. In the order of operations that use the same memory all runs are exclusive
// (runtime/cuda/shared/arena.h). Only eager runs are in the order. A captured run is ordered by
// where its graph is launched.
//
// Runs of one operation follow each other without this order. So do runs on one stream, which
// continues only after a run's end. For such runs the order costs nothing.
class RunOrder {
 public:
  // An operation's part in the order. Its address stays the same until it leaves.
  struct Member {
    uint64_t following = 0, followed = 0;  // numbers of exclusive runs
  };
  // A run on the caller's stream. `stream_id` is the stream's number (cudaStreamGetId), or 0 for a
  // stream that has had no run.
  struct Run {
    cudaStream_t stream;
    unsigned long long stream_id;
    bool exclusive;
  };

  // Lets later work on the stream of `run` follow the runs that `run` has to follow.
  tilepost_result_t follow(Member& member, const Run& run);
  // Adds the run for which follow() was called. It is on its stream now and ends with `end`, an
  // event that lives as long as the member.
  void add(Member& member, const Run& run, cudaEvent_t end);
  // Takes the member out of the order. The member's runs have ended.
  void leave(const Member& member);
  // Waits on the host until the last exclusive run has ended. It is for calls that have no place in
  // the order and that involve other ranks. TILEPOST_ABORTED if `aborted` is set meanwhile.
  tilepost_result_t wait_for_exclusive(const std::atomic<bool>& aborted);

 private:
  struct Last {
    const Member* member;
    unsigned long long stream_id;
    cudaEvent_t end;
  };

  tilepost_result_t query_exclusive(bool& ended);

  std::mutex mutex_;
  std::vector<Last> since_;     // the last run of each stream, from the last exclusive one on
  Last exclusive_{};            // its end is null if the run has ended or there was none
  uint64_t num_exclusive_ = 0;  // the number of exclusive_
};

}  // namespace tilepost::cuda
