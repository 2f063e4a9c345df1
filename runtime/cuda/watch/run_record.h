// What a run was issued with, for the threads that watch it: enough to say what the run waits for,
// and to release it.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime/cuda/watch/run_board.h"
#include "runtime/cuda/watch/tracker.h"
#include "runtime/schedule/run_map.h"

namespace tilepost::cuda {

struct RunRecord {
  uint64_t number = 0;  // 1 for a captured run
  uint64_t called = 0;  // which run of the caller's operation it is: other plans have runs, too
  bool overlaps = false;
  int groups = 0;
  uint32_t progress = 0;          // the progress word before the run (watch_page.h)
  uint32_t ready = 0;             // ARRIVALS: what a group's counter is set to when it has arrived
  std::vector<uint32_t> before;   // by group: the counter's sum before the run
  std::vector<uint32_t> targets;  // by group: what the run's tiles add
  RunBoard::Call call{};          // what ranks have in common in it

  // What the counter reads when the run's tiles have all raised it.
  uint32_t expected(int group) const { return before[group] + targets[group]; }
};

// The records of the runs in flight, and the sums over all runs so far. One thread issues runs; any
// thread may ask.
class RunLedger {
 public:
  // `arrivals`: the kernel waits for counters and raises none. `called`: number of eager runs of
  // the caller's operation so far, which this goes on counting. Eager runs allocate nothing after
  // this. `plan` and `called` outlive this.
  void create(const tilepost_plan_t& plan, bool arrivals, uint64_t& called);

  // The record of the next eager run, which changes nothing before commit(): a run that could not
  // be started has added nothing to any counter. `output`, here and below: RunTerms::output.
  const RunRecord& next(const RunMap& map, uint32_t output);
  void commit();

  // The record of captured run number `which`. Replays start from zero.
  const RunRecord& capture(const RunMap& map, uint32_t output, size_t which);

  // Copies for other threads: the record of a run in flight, by its number, and that of a captured
  // run.
  RunRecord of_run(uint64_t number) const;
  RunRecord of_captured(size_t which) const;

  // What every group's counter reads when all runs so far are over.
  std::vector<uint32_t> sums() const;
  uint64_t runs() const;
  bool arrivals() const { return arrivals_; }

 private:
  void fill(const RunMap& map, uint32_t output, RunRecord& record) const;

  // One more than can be in flight: the next run's record is written while all others may be looked
  // at.
  std::array<RunRecord, RunTracker::kMaxInFlight + 1> eager_;
  std::vector<RunRecord> captured_;
  const tilepost_plan_t* plan_ = nullptr;
  uint64_t* called_ = nullptr;  // the issuing thread's
  bool arrivals_ = false;
  mutable std::mutex mutex_;  // guards all but eager_ of runs that are not in flight
  std::vector<uint32_t> sums_;
  uint32_t progress_ = 0;  // groups passed by all runs so far
  uint32_t ready_ = 0;     // runs so far whose input arrived while they ran
  uint64_t runs_ = 0;
};

}  // namespace tilepost::cuda
