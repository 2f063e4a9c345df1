// The state that the thread which issues runs shares with the threads that watch the runs. Watching
// has two parts: finding out how far the runs have come, and ending runs that cannot end by
// themselves.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cuda/op/state/run_counters.h"
#include "runtime/cuda/op/state/run_explainer.h"
#include "runtime/cuda/op/state/run_traits.h"
#include "runtime/cuda/transport/transport.h"
#include "runtime/cuda/watch/failure.h"
#include "runtime/cuda/watch/run_record.h"
#include "runtime/cuda/watch/tracker.h"
#include "runtime/cuda/watch/watch_page.h"
#include "runtime/cuda/watch/watchdog.h"

namespace tilepost::cuda {

class RunState {
 public:
  // `transports` are watched, and aborted with the runs. They outlive this object.
  explicit RunState(Transports& transports)
      : transports_(transports), explainer_(traits, ledger, counters, transports) {}

  RunTraits traits;
  RunCounters counters;
  AbortedFlag comm_aborted;
  AbortedFlag others_aborted;  // the flag of operations that use the same memory; null if there are
                               // none

  RunTracker tracker;
  RunLedger ledger;
  Failure failure;
  std::atomic<bool> captured = false;  // whether a run was captured, so that replays can begin at
                                       // any time

  WatchPage* page() const { return counters.page(); }
  uint32_t* bank(Bank which) const { return counters.bank(which); }

  // Returns TILEPOST_ABORTED if this operation, or another one of the communicator, has failed.
  tilepost_result_t check_usable() const;

  // Waits until `stream` has no work left, within the deadline. If it still has work then, a rank
  // did not come. The operation ends, and the error begins with `what`.
  tilepost_result_t finish_in_time(cudaStream_t stream, const std::string& what);

  // Returns the result of a wait for other ranks. If it is TILEPOST_TIMEOUT, the operation ends,
  // and the error begins with `what`.
  tilepost_result_t judge_wait(tilepost_result_t result, const std::string& what);

  // Calls observe() until `reached`() is true. Returns TILEPOST_ABORTED, with the reason, when the
  // runs have failed before that.
  template <class Reached>
  tilepost_result_t wait_until(Reached reached) {
    while (!reached()) {
      const tilepost_result_t result = observe();
      if (result != TILEPOST_OK && result != TILEPOST_IN_PROGRESS) return failure.refuse();
      if (!reached()) std::this_thread::sleep_for(kPoll);
    }
    return TILEPOST_OK;
  }
  // Waits until the eager run number `run`, and all runs before it, have ended.
  tilepost_result_t wait_for_run(uint64_t run);

  // Returns TILEPOST_OK if nothing is in flight, TILEPOST_IN_PROGRESS, or the error that ended a
  // run. Ends the runs if one has missed its deadline or if CUDA or NCCL has failed. Any thread may
  // call.
  tilepost_result_t observe();

  // Calls observe() for the watchdog, which has no caller to return an error to. Throws nothing.
  Watchdog::Found watch() noexcept;

  // Waits for the runs at the end of the operation. If a stream has not reached a run within the
  // deadline, because the work before the run does not end, this ends the operation too. Throws
  // nothing.
  void finish() noexcept;
  // Whether the runs so far are over on the device, as far as can be seen. Waits a moment for their
  // end.
  bool is_at_rest(cudaStream_t stream) noexcept;

  // Records the failure, releases all waiters and aborts the communicator. Only the first caller's
  // reason counts. Any thread may call.
  void abort(tilepost_result_t result, const std::string& reason);

  // Releases all waits for counters, on the device and in streams, up to the last run of the
  // ledger. Called by abort(). The thread that issues a run calls it too if abort() came too early
  // for that run.
  void release_waits();

 private:
  using Clock = RunTracker::Clock;
  static constexpr std::chrono::microseconds kPoll{20};

  // Calls body() where nothing may be thrown. An exception of body() counts as a lack of host
  // memory, and ends the runs.
  template <class Body>
  tilepost_result_t quietly(Body body) noexcept;
  void record_no_memory() noexcept;
  tilepost_result_t find_in_flight(bool& busy, std::optional<RunInFlight>& started);
  void find_replay(std::optional<RunInFlight>& started);
  bool is_late(const RunInFlight& run) const;
  std::string explain_given_up(const std::optional<RunInFlight>& started);
  RunInFlight latest() const;
  bool has_started();

  Transports& transports_;
  RunExplainer explainer_;
  std::mutex observe_mutex_;
  bool says_replay_ = false;
  std::optional<uint32_t> replay_seen_;  // the replay under way
  Clock::time_point replay_since_;
  std::once_flag abort_once_;
  // The reason to record if there is no memory to compose one. Recording moves the text out.
  std::string no_memory_ = "the thread that watches the runs is out of host memory";
};

}  // namespace tilepost::cuda
