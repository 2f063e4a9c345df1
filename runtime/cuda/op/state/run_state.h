// What the thread that issues runs shares with the threads that watch them, and the two things that
// watching does: it sees how far the runs have come, and ends them when they cannot end themselves.
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
  // `transports` are watched, and aborted with the runs; they outlive this.
  explicit RunState(Transports& transports)
      : transports_(transports), explainer_(traits, ledger, counters, transports) {}

  RunTraits traits;
  RunCounters counters;
  AbortedFlag comm_aborted;
  AbortedFlag others_aborted;  // of operations that use the same memory; null: none

  RunTracker tracker;
  RunLedger ledger;
  Failure failure;
  std::atomic<bool> captured = false;  // a run was captured: replays can begin at any time

  WatchPage* page() const { return counters.page(); }
  uint32_t* bank(Bank which) const { return counters.bank(which); }

  // TILEPOST_ABORTED when the operation, or another one of the communicator, has failed.
  tilepost_result_t check_usable() const;

  // Waits until `stream` has run dry, within the deadline. If it has not by then, a rank did not
  // come: the operation ends, and the error says `what` was missing.
  tilepost_result_t finish_in_time(cudaStream_t stream, const std::string& what);

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
  // Waits until the eager run of this number, and those before, have ended.
  tilepost_result_t wait_for_run(uint64_t run);

  // TILEPOST_OK when nothing is in flight, TILEPOST_IN_PROGRESS, or the error that ended a run.
  // Ends the runs when it finds that one has missed its deadline or that CUDA or NCCL has failed.
  // Called by any thread.
  tilepost_result_t observe();

  // What the watchdog calls: observe(), with nobody to return an error to. Throws nothing.
  Watchdog::Found watch() noexcept;

  // Waits for the runs, at the end. A run that its stream has not reached within the deadline,
  // because the work before it does not end, ends the operation too. Throws nothing.
  void finish() noexcept;
  // Whether the runs so far are over on the device, as far as can be seen. Waits a moment for that.
  bool is_at_rest(cudaStream_t stream) noexcept;

  // Records the failure, lets all waiters go and aborts the communicator. Only the first caller's
  // reason counts. Called by any thread.
  void abort(tilepost_result_t result, const std::string& reason);

  // Releases whatever waits for a counter, on the device and in streams, up to the last run of the
  // ledger. Called by abort(), and by the thread that issues a run if abort() came too early for
  // it.
  void release_waits();

 private:
  using Clock = RunTracker::Clock;
  static constexpr std::chrono::microseconds kPoll{20};

  // Calls body() where nothing may be thrown. An exception of body()'s counts as a lack of host
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
  std::optional<uint32_t> replay_seen_;  // the replay under way, and when it was seen
  Clock::time_point replay_since_;
  std::once_flag abort_once_;
  // The reason to record when there is no memory to compose one; recording moves it out.
  std::string no_memory_ = "the thread that watches the runs is out of host memory";
};

}  // namespace tilepost::cuda
