// What threads that watch a run need to know of it: enough to explain what the run waits for, and
// to release it.
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
  uint64_t called = 0;  // the number of the run in the caller's operation, where other plans have
                        // runs too
  bool overlaps = false;
  int groups = 0;
  uint32_t progress = 0;          // the progress word before the run (watch_page.h)
  uint32_t ready = 0;             // ARRIVALS: the value of a group's counter when the group has
                                  // arrived
  std::vector<uint32_t> before;   // [groups] the counter's sum before the run
  std::vector<uint32_t> targets;  // [groups] what the run's tiles add
  RunBoard::Call call{};          // what ranks must have in common in the run

  // The value of the counter when all tiles of the run have raised it.
  uint32_t expected(int group) const { return before[group] + targets[group]; }
};

// The records of the runs in flight, and the sums over all runs so far. One thread issues runs. Any
// thread may read.
class RunLedger {
 public:
  // `arrivals`: whether the kernel waits for counters and raises none. `called`: the number of
  // eager runs of the caller's operation so far, which commit() increments. After this call eager
  // runs allocate nothing. `plan` and `called` outlive this object.
  void create(const tilepost_plan_t& plan, bool arrivals, uint64_t& called);

  // Makes the record of the next eager run. It takes effect only with commit(), because a run that
  // could not be started has added nothing to any counter. `output`, here and below:
  // RunTerms::output.
  const RunRecord& next(const RunMap& map, uint32_t output);
  void commit();

  // Makes the record of captured run number `which`. Replays start from zero.
  const RunRecord& capture(const RunMap& map, uint32_t output, size_t which);

  // Copies for other threads: the record of a run in flight, by the run's number, and the record of
  // a captured run.
  RunRecord of_run(uint64_t number) const;
  RunRecord of_captured(size_t which) const;

  // [groups] The value of each group's counter when all runs so far have ended.
  std::vector<uint32_t> sums() const;
  uint64_t runs() const;
  bool arrivals() const { return arrivals_; }

 private:
  void fill(const RunMap& map, uint32_t output, RunRecord& record) const;

  // There is one more than can be in flight, because the next run's record is written while all
  // others may be read.
  std::array<RunRecord, RunTracker::kMaxInFlight + 1> eager_;
  std::vector<RunRecord> captured_;
  const tilepost_plan_t* plan_ = nullptr;
  uint64_t* called_ = nullptr;  // belongs to the issuing thread
  bool arrivals_ = false;
  mutable std::mutex mutex_;  // guards everything but records in eager_ of runs that are not in
                              // flight
  std::vector<uint32_t> sums_;
  uint32_t progress_ = 0;  // how many groups all runs so far have passed
  uint32_t ready_ = 0;     // how many runs so far had input that arrived while they ran
  uint64_t runs_ = 0;
};

}  // namespace tilepost::cuda
