// One operation's part of the memory that ranks share: its regions, the flags and counters in it,
// and the announcements of its runs. It is the same for all transports.
//
// An operation gets a SharedService when its plan's ranks read or write each other's memory. The
// service owns its part of an arena (runtime/cuda/shared/arena.h). Transports put the work that
// uses this memory on streams.
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
  // If close() was not called, calls it as after a failure. Making the operation then failed on
  // this rank, but may have come further on others.
  ~SharedService();

  // Makes the memory, or finds it in `arenas` if the operation shares memory with other operations
  // (tilepost_options_t::share_memory). New memory has room for operations of all of `plans`, of
  // which one is this operation's. Collective. Called once, before all other calls.
  tilepost_result_t create(const SharedRanks& ranks, SharedArenas& arenas, bool share,
                           const PlanRanges& plans);

  // Sets the page to which waits on the device report that they gave up, and the seconds after
  // which they give up (0: never). Called before any work is put on a stream.
  void report_to(WatchPage* page, double deadline_seconds);

  const SharedRegions& regions() const { return regions_; }
  const SharedFlags& flags() const { return flags_; }
  // What an operation of a plan needs of an arena (create): `share` and `plans` are its arguments.
  static ArenaNeed need_of(const tilepost_plan_t& plan, bool share, const PlanRanges& plans);
  // Adds what create() allocates beside the arena; and what this object has allocated, with the
  // arena if it was made for this operation.
  static void add_needs(const tilepost_plan_t& plan, tilepost_memory_t& memory);
  void add_memory(tilepost_memory_t& memory) const;

  // The order of the runs of all operations that share this memory, and the flag that is set when
  // one of them has failed. Both are null if the memory is not shared with other operations.
  RunOrder* order() { return shares_ ? &arena_->order() : nullptr; }
  AbortedFlag others_aborted() const { return shares_ ? arena_->aborted() : nullptr; }

  // Whether a run has to announce its end on the caller's stream, although nothing there waits for
  // the announcement (SharedArena::expect_meetings).
  bool ends_in_line() const { return shares_ && arena_->has_meetings(); }

  // The fields of tasks that are the same in all runs: where tasks read unless the run sets it,
  // what they wait for and what they count. Offsets of tasks are within this rank's memory.
  tilepost_tasks_t tasks() const;

  // Fills in the fields of a kernel that is a whole run which are the same in every run. These
  // fields of the run are left out: words, targets, out, where sums go, maps, and whether it is
  // captured.
  void set_exchange(tilepost_exchange_t& exchange) const;

  // Begin a run before it touches other ranks' memory, and end it after all of its work
  // (runtime/cuda/shared/flags.h). The targets are what all ranks add to this rank's counters
  // (TILEPOST_ACCESS_WRITE). With other kinds of access there are no targets, and the number of
  // counters is the number of groups. May be captured.
  tilepost_result_t begin(const RunBeginning& beginning, cudaStream_t stream);
  tilepost_result_t end(bool captured, cudaStream_t stream);

  // Begin and end like begin() and end(), for warming up. From then on eager runs announce their
  // end on `stream`.
  tilepost_result_t begin_warm_up(cudaStream_t stream);
  tilepost_result_t end_warm_up(cudaStream_t stream);

  // Finds the first group of the run under way whose tiles are not all stored here. Returns nothing
  // if all are, or if that cannot be found out. It is for tasks, which do not report to the host
  // that they wait for tiles.
  std::optional<OpenWait> find_missing_tiles();

  // The ranks that have not begun this rank's latest run, or nothing if that cannot be found out.
  std::optional<std::vector<int>> find_absent();
  // The words that ranks must have in common in a run (RunBeginning::words). `output`:
  // RunTerms::output, the number of the run's registered buffer.
  RunWords words_of(const RunMap& run, uint32_t output) const;
  // Finds a rank whose run of the same number differs from the run that this rank began last.
  // Returns nothing if there is none, or if that cannot be found out. Runs that are late need this,
  // because ranks compare by themselves only when a run ends.
  std::optional<RunDifference> find_difference();

  // From now on no work that uses the memory may be put on streams. Any thread may call.
  void abort() { aborted_ = true; }
  bool is_aborted() const { return aborted_; }

  // Called at the end, when this rank's runs are over. Unless something has failed or another
  // operation uses the memory, waits within the deadline until the other ranks have ended their
  // runs too. If this takes too long, or if a run or making the operation has failed (`failed`),
  // other ranks may use the memory for ever, and it is left to the process. It is freed all the
  // same if making the operation failed before they could.
  void close(bool failed);
  // Leaves to the process the host memory that the device may still write, for when the device has
  // not recovered.
  void leak();

 private:
  bool has_ended(bool last) const;
  uint32_t* own_counters() const;

  const tilepost_plan_t& plan_;
  const RunPath path_;        // the path of runs that overlap
  const uint32_t plan_word_;  // RunWords::plan of all runs of the operation, on all ranks
  double deadline_seconds_ = 0;
  std::shared_ptr<SharedArena> arena_;
  bool shares_ = false;      // whether the arena is shared with other operations
  bool made_arena_ = false;  // whether the arena was made for this operation
  bool touched_ = false;     // whether other ranks may use the memory because of this operation
  bool closed_ = false;
  SharedRegions regions_;
  SharedFlags flags_{};
  CounterAccess access_;             // if tasks wait: access to counters and their expected values
  CounterAccess begun_;              // access to the numbers of runs that ranks have begun
  cudaStream_t ended_on_ = nullptr;  // where eager runs that overlap announce their end
  std::atomic<bool> aborted_ = false;
};

}  // namespace tilepost::cuda
