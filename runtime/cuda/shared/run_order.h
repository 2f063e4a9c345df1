// What operations of a communicator have in common so that their runs keep out of each other's way:
// an order, and a flag for failures.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/cuda/device/resources.h"

namespace tilepost::cuda {

// Set when an operation has failed that affects others. Read by any thread.
using AbortedFlag = std::shared_ptr<std::atomic<bool>>;

// Which runs of several operations wait for which, in the order of the host's calls, which is the
// same on all ranks. An *exclusive* run has the device for itself: it begins when all runs before
// it have ended, and none behind it begins before it has ended. The others go side by side.
//
// In the order of a communicator those runs are exclusive whose kernel waits for other ranks while
// it holds SMs (RunPath::waits_on_sms); docs/internals/transports.md has the proof that no run then
// keeps another from ending. In the order of operations that use the same memory all runs are
// exclusive (runtime/cuda/shared/arena.h). The order is of eager runs only; a captured run is
// ordered by where its graph is launched.
//
// Runs of one operation follow each other without this, and so do runs on one stream, which goes on
// behind a run's end: neither costs anything here.
class RunOrder {
 public:
  // An operation's part in the order. Its address stays the same until it leaves.
  struct Member {
    uint64_t following = 0, followed = 0;  // exclusive runs, by number
  };
  // A run on the caller's stream. `stream_id` is the stream's number (cudaStreamGetId), or 0 for a
  // stream that no run has been on.
  struct Run {
    cudaStream_t stream;
    unsigned long long stream_id;
    bool exclusive;
  };

  // Lets what comes next on the stream of `run` follow the runs that it has to follow.
  tilepost_result_t follow(Member& member, const Run& run);
  // Adds the run that has followed. It is on its stream now and ends with `end`, an event that is
  // kept as long as the member.
  void add(Member& member, const Run& run, cudaEvent_t end);
  // Takes the member out of the order. Its runs have ended.
  void leave(const Member& member);
  // Waits on the host until the last exclusive run has ended: for what has no place in the order
  // and has to do with other ranks. TILEPOST_ABORTED if `aborted` is set meanwhile.
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
  Last exclusive_{};            // no end: it has ended, or there was none
  uint64_t num_exclusive_ = 0;  // its number
};

}  // namespace tilepost::cuda
