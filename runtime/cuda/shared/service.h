// What one operation has of the memory that ranks share: its regions, the flags and counters in it,
// and what its runs have to tell the other ranks, whichever transport they use.
//
// An operation is given a SharedService when its plan's ranks touch each other's memory. The
// service owns its part of an arena (runtime/cuda/shared/arena.h). Transports put on streams what
// uses it.
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
  // Without an earlier close(), does what close() does after a failure: making the operation came
  // no further than this here, but other ranks may have come further.
  ~SharedService();

  // Makes the memory, or finds it in `arenas` where the operation shares it with others that were
  // asked to (tilepost_options_t::share_memory). Memory that is made has room for operations of all
  // of `plans`, of which this operation's is one. Collective. Called once, before anything else.
  tilepost_result_t create(const SharedRanks& ranks, SharedArenas& arenas, bool share,
                           const PlanRanges& plans);

  // Sets the page in which waits on the device say that they gave up, and the seconds after which
  // they do (0: never). Called before anything is put on a stream.
  void report_to(WatchPage* page, double deadline_seconds);

  const SharedRegions& regions() const { return regions_; }
  const SharedFlags& flags() const { return flags_; }
  // Bytes that were allocated for this operation; 0 if it has found its place in an existing arena.
  int64_t bytes() const { return made_arena_ ? arena_->memory().bytes() : 0; }

  // The order of the runs of all operations that share this memory, and the flag that is set when
  // one of them has failed; null where the memory is not shared with other operations.
  RunOrder* order() { return shares_ ? &arena_->order() : nullptr; }
  AbortedFlag others_aborted() const { return shares_ ? arena_->aborted() : nullptr; }

  // Whether a run has to say on the caller's stream that it has ended, though nothing there waits
  // for that (SharedArena::expect_meetings).
  bool ends_in_line() const { return shares_ && arena_->has_meetings(); }

  // What the tasks of all runs have in common: where they read, unless the run says otherwise, what
  // they wait for and what they count. Offsets of tasks are within this rank's memory.
  tilepost_tasks_t tasks() const;

  // Fills in what a kernel that is a whole run is told in every run. Left out is what belongs to
  // the run: words, targets, out, where sums go, maps, and whether it is captured.
  void set_exchange(tilepost_exchange_t& exchange) const;

  // Begin a run before it touches other ranks' memory, and end it after everything that belongs to
  // it (runtime/cuda/shared/flags.h). Targets are what all ranks add to this rank's counters
  // (TILEPOST_ACCESS_WRITE). With other kinds of access there are none, and the number of counters
  // is that of groups. May be captured.
  tilepost_result_t begin(const RunBeginning& beginning, cudaStream_t stream);
  tilepost_result_t end(cudaStream_t stream);

  // As begin() and end(), for warming up. From then on `stream` is the one where eager runs say
  // that they have ended.
  tilepost_result_t begin_warm_up(cudaStream_t stream);
  tilepost_result_t end_warm_up(cudaStream_t stream);

  // The first group of the run under way whose tiles are not all stored here; nothing where all
  // are, or where that cannot be found out. For tasks, which wait for tiles without saying so to
  // the host.
  std::optional<OpenWait> find_missing_tiles();

  // The ranks that have not begun this rank's latest run; nothing where that cannot be found out.
  std::optional<std::vector<int>> find_absent();
  // What ranks must have in common in a run (RunBeginning::words). `output`: RunTerms::output,
  // which says whether the run's out is a registered buffer.
  RunWords words_of(const RunMap& run, uint32_t output) const;
  // A rank whose run of the same number differs from the run that this rank began last; nothing
  // where there is none, or where that cannot be found out. Needed for runs that are late, because
  // ranks compare by themselves only when a run ends.
  std::optional<RunDifference> find_difference();

  // From now on nothing may be put on streams that uses the memory. Called by any thread.
  void abort() { aborted_ = true; }
  bool is_aborted() const { return aborted_; }

  // Called at the end, when this rank's runs are over. Waits, within the deadline, until the other
  // ranks are through with this rank's memory. Leaves the memory to the process where they may
  // never be: after a failure, also of the operation's making.
  void close(bool failed);
  // For when the device has not come back: leaves to the process the host memory that the device
  // may still write.
  void leak();

 private:
  bool has_ended(bool last) const;
  uint32_t* own_counters() const;

  const tilepost_plan_t& plan_;
  const RunPath path_;        // of runs that overlap
  const uint32_t plan_word_;  // RunWords::plan of all runs of the operation, on all ranks
  double deadline_seconds_ = 0;
  std::shared_ptr<SharedArena> arena_;
  bool shares_ = false;      // shares the arena with other operations
  bool made_arena_ = false;  // the arena was made for this operation
  bool touched_ = false;     // other ranks may use the memory because of this operation
  bool closed_ = false;
  SharedRegions regions_;
  SharedFlags flags_{};
  CounterAccess access_;             // if tasks wait: to counters and what they have to reach
  CounterAccess begun_;              // to the runs that each rank has begun
  cudaStream_t ended_on_ = nullptr;  // where eager runs that overlap say that they have ended
  std::atomic<bool> aborted_ = false;
};

}  // namespace tilepost::cuda
