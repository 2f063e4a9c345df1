// What one operation has of the memory that ranks share: its regions, the flags and counters in it,
// and what its runs have to tell the other ranks, whichever transport they use.
//
// An operation is given one when its plan's ranks touch each other's memory. It owns its part of an
// arena (runtime/cuda/shared/arena.h); transports put on streams what uses it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/core/ranges.h"
#include "runtime/cuda/shared/arena.h"
#include "runtime/cuda/shared/layout.h"
#include "runtime/cuda/watch/counter_access.h"

namespace tilepost::cuda {

class SharedService {
 public:
  // `operation`: its number, the same on all ranks (Communicator::operations).
  SharedService(const tilepost_plan_t& plan, int64_t operation);
  SharedService(const SharedService&) = delete;
  SharedService& operator=(const SharedService&) = delete;
  // Where making the operation has come no further than this, the other ranks may have: as close()
  // after a failure.
  ~SharedService();

  // Makes the memory, or finds it in `arenas` where the operation shares it with others that were
  // asked to (tilepost_options_t::share_memory). What it makes has room for operations of all of
  // `plans`, of which its own is one. Collective. Once, before anything else.
  tilepost_result_t create(const SharedRanks& ranks, SharedArenas& arenas, bool share,
                           const PlanRanges& plans);

  // Where waits on the device say that they gave up, and after how long they do; 0: never. Before
  // anything is put on a stream.
  void report_to(WatchPage* page, double deadline_seconds);

  const SharedRegions& regions() const { return regions_; }
  const SharedFlags& flags() const { return flags_; }
  // What was allocated for this operation; nothing if it has found its place in an arena.
  int64_t bytes() const { return made_arena_ ? arena_->memory().bytes() : 0; }

  // Of operations that share this memory with each other; null where none do: the order of their
  // runs, and what is set when one of them has failed.
  RunOrder* order() { return shares_ ? &arena_->order() : nullptr; }
  AbortedFlag others_aborted() const { return shares_ ? arena_->aborted() : nullptr; }

  // Whether a run has to say that it has ended on the caller's stream, though nothing there waits
  // for that (SharedArena::expect_meetings).
  bool ends_in_line() const { return shares_ && arena_->has_meetings(); }

  // What the tasks of all runs have in common: where they read, unless the run says so, what they
  // wait for and count. Offsets of tasks are within this rank's memory.
  tilepost_tasks_t tasks() const;

  // What a kernel that is a whole run is told in every run, but for the run's own: words, targets,
  // out, where sums go, maps, and whether it is captured.
  void set_exchange(tilepost_exchange_t& exchange) const;

  // Before what a run does to other ranks' memory, and after everything that belongs to it
  // (runtime/cuda/shared/flags.h). Targets: what all ranks add to this rank's counters
  // (TILEPOST_ACCESS_WRITE); elsewhere there are none, and the counters are groups. May be
  // captured.
  tilepost_result_t begin(const RunBeginning& beginning, cudaStream_t stream);
  tilepost_result_t end(cudaStream_t stream);

  // The same of warming up. `stream` is the one where eager runs say from then on that they have
  // ended.
  tilepost_result_t begin_warm_up(cudaStream_t stream);
  tilepost_result_t end_warm_up(cudaStream_t stream);

  // Where tasks wait for tiles, which tell no waiter: the first group of the run under way whose
  // tiles are not all stored here. Nothing where they are, or where that cannot be found out.
  std::optional<OpenWait> find_missing_tiles();

  // The ranks that have not begun this rank's latest run; nothing where that cannot be found out.
  std::optional<std::vector<int>> find_absent();
  // What ranks have in common in a run (RunBeginning::words) whose out is this registered buffer.
  RunWords words_of(const RunMap& run, uint32_t output) const;
  // A rank that has begun another run than this one has as the last of this rank's; nothing where
  // there is none, or where that cannot be found out. For runs that are late: ranks compare by
  // themselves when a run ends.
  std::optional<RunDifference> find_difference();

  // From now on nothing may be put on streams that uses the memory. Called by any thread.
  void abort() { aborted_ = true; }
  bool is_aborted() const { return aborted_; }

  // At the end, when this rank's runs are over. Waits, within the deadline, until the other ranks
  // are through with this rank's memory; or leaves that to the process, where they may never be:
  // after a failure, also of the operation's making.
  void close(bool failed);
  // When the device has not come back: leaves to the process what it may still write for this host.
  void leak();

 private:
  bool has_ended(bool last) const;
  uint32_t* own_counters() const;

  const tilepost_plan_t& plan_;
  const RunPath path_;        // of runs that overlap
  const uint32_t plan_word_;  // RunWords::plan of all runs: of the operation, the same on all ranks
  double deadline_seconds_ = 0;
  std::shared_ptr<SharedArena> arena_;
  bool shares_ = false;      // the arena with other operations
  bool made_arena_ = false;  // for this operation
  bool touched_ = false;     // other ranks may use the memory because of this operation
  bool closed_ = false;
  SharedRegions regions_;
  SharedFlags flags_{};
  CounterAccess access_;             // where tasks wait: to counters and what they have to reach
  CounterAccess begun_;              // to the runs that each rank has begun
  cudaStream_t ended_on_ = nullptr;  // where eager runs that overlap say that they have ended
  std::atomic<bool> aborted_ = false;
};

}  // namespace tilepost::cuda
