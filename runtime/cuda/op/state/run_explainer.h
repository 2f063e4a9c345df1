// Explains in words what a run waits for and why runs fail. It reads the state of the runs and what
// ranks see of each other, and changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cuda/op/state/run_counters.h"
#include "runtime/cuda/op/state/run_traits.h"
#include "runtime/cuda/transport/transport.h"
#include "runtime/cuda/watch/run_record.h"
#include "runtime/cuda/watch/timeout.h"
#include "runtime/cuda/watch/tracker.h"

namespace tilepost::cuda {

// A run that the device has begun and not finished.
struct RunInFlight {
  Bank bank;
  uint64_t run;  // the number of an eager run, or the index of a captured run
  RunTracker::Clock::time_point since;
};

class RunExplainer {
 public:
  // All arguments outlive this object.
  RunExplainer(const RunTraits& traits, const RunLedger& ledger, RunCounters& counters,
               const Transports& transports)
      : traits_(traits), ledger_(ledger), counters_(counters), transports_(transports) {}

  // Text about a routing that has asked for more rows than the plan is for. All ranks get the same.
  // The text is empty if none has.
  std::string too_many_rows() const;
  // Explains a difference between runs that the device has found, even if the run has ended since.
  // The text is empty if there is none.
  std::string device_difference(const std::optional<RunInFlight>& started) const;
  // Explains calls of other ranks that differ from this rank's calls, even if nothing hangs because
  // of them. The text is empty if there are none.
  std::string other_calls(bool late) const;
  // Text about a waiter of this rank that has given up by the device's clock. It is empty if no
  // waiter has. The run may have ended since, with a collective over unfinished tiles.
  std::string given_up() const;
  // Whether a wait for another rank has given up by the device's clock. Its run has not ended,
  // because such a wait stays for a moment (runtime/cuda/shared/flags.h).
  bool gave_up_on_others() const;
  // Explains what a run waits for that has missed its deadline.
  std::string late(const RunInFlight& run) const;

 private:
  std::string explain(const RunDifference& difference, const std::string& run) const;
  std::string explain(const RunBoard::Difference& difference, const std::string& run) const;
  std::string explain_calls(int other, const RunBoard::Call& theirs,
                            const RunBoard::Call& own) const;
  bool is_own(const RunWords& words) const;
  std::optional<std::vector<int>> find_absent(const RunInFlight& run, uint64_t called) const;
  void find_missing_messages(TimeoutFacts& facts) const;
  void find_missing_tiles(TimeoutFacts& facts) const;
  TimeoutFacts facts_of(Bank which, uint64_t number) const;

  const RunTraits& traits_;
  const RunLedger& ledger_;
  RunCounters& counters_;
  const Transports& transports_;
};

}  // namespace tilepost::cuda
