// Memory that ranks share, together with all numbers that they count in it. It belongs to one
// operation, or to several operations of a communicator whose runs do not overlap
// (tilepost_options_t: share_memory).
//
// A run of any of these operations is a run of the arena. The number of runs, the flags and the
// counters continue from one operation's run to the next operation's run. So a run begins when all
// ranks have ended the run before, whichever operation's run that was
// (runtime/cuda/shared/flags.h). Each operation has regions of its own plan in the same memory. It
// finds there what the other operations have left, but no run reads anything that was not written
// in the same run (docs/internals/memory-model.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/cuda/shared/flags.h"
#include "runtime/cuda/shared/layout.h"
#include "runtime/cuda/shared/number_exchange.h"
#include "runtime/cuda/shared/run_order.h"

namespace tilepost::cuda {

// The ranks that share memory, as one of them sees them: its number and device, the channel by
// which it exchanges numbers with the others, and how long it waits for their numbers (0: for
// ever).
struct SharedRanks {
  int rank, ranks, device;
  ControlChannel& channel;
  double seconds;
};

class SharedArena {
 public:
  // `id`: the arena's number among the communicator's arenas, the same on all ranks.
  explicit SharedArena(int64_t id) : id_(id) {}
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;
  // Frees the memory unless the arena was abandoned. No rank may use the memory any more.
  ~SharedArena();

  // Makes the memory, collectively like SharedMemory::create, and tests it (access_test.h).
  // TILEPOST_UNSUPPORTED on all ranks if stores do not arrive.
  tilepost_result_t create(const SharedRanks& ranks, const SharedLayout& layout);

  // The first rank in whose memory additions by the others are lost, the same on all ranks; -1 if
  // there is none. Plans whose kernels raise other ranks' counters cannot use memory that loses
  // additions.
  int loses_additions() const { return loses_additions_; }

  // Whether an operation of this layout can have its regions here, and where these regions are.
  bool has_room(const SharedLayout& layout) const;
  SharedLayout place(const SharedLayout& layout) const;

  // The flags with all fields but page and deadline, which are the operation's.
  SharedFlags flags() const;
  uint32_t* done() const;

  // Adds what create() allocates for a layout, and what this object has allocated.
  static void add_needs(const SharedLayout& layout, tilepost_memory_t& memory);
  void add_memory(tilepost_memory_t& memory) const;

  int64_t id() const { return id_; }
  const SharedMemory& memory() const { return memory_; }
  // Whether any operation of the arena has runs that are a kernel alone, which meets the other
  // ranks' kernels itself (RunPath::whole_run). expect_meetings() is called before any such
  // operation is made. Such a kernel may take all SMs while it waits for the end of the run before
  // it. A kernel on this rank announces that end, and must precede the waiting kernel in its
  // stream. Otherwise the announcing kernel might find no free SM.
  void expect_meetings() { has_meetings_.store(true); }
  bool has_meetings() const { return has_meetings_.load(); }
  // The order in which eager runs of the arena's operations follow each other.
  RunOrder& order() { return order_; }
  // Set when a run of any of the arena's operations has failed.
  const AbortedFlag& aborted() const { return aborted_; }

  // Called after a failure, when another rank may still use the memory. The memory is left to the
  // process.
  void abandon() { abandoned_ = true; }
  bool is_abandoned() const { return abandoned_; }

 private:
  tilepost_result_t make_numbers();
  tilepost_result_t start_late(uint32_t runs);
  tilepost_result_t try_out(const SharedRanks& ranks);

  const int64_t id_;
  SharedLayout layout_;  // the layout of the operation for which the arena was made
  SharedMemory memory_;
  DeviceMemory numbers_;  // SharedFlags::run, given_up, done and expected
  RunOrder order_;
  AbortedFlag aborted_ = std::make_shared<std::atomic<bool>>(false);
  bool abandoned_ = false;
  std::atomic<bool> has_meetings_ = false;
  int loses_additions_ = -1;
};

// A communicator's arenas that operations share. They are listed by id, in the order in which they
// were made. The operations own them.
using SharedArenas = std::vector<std::weak_ptr<SharedArena>>;

// What an operation needs of an arena. It is the same on all ranks.
struct ArenaNeed {
  SharedLayout layout;
  bool shares;  // whether the operation shares memory with other operations
};

// Finds the arena of an operation. An operation that shares gets the first of `arenas` that has
// room on every rank, the same one on all ranks. If there is none, or the operation does not share,
// a new arena is made, and `made` is set. Collective: waits for the other ranks.
tilepost_result_t find_arena(const SharedRanks& ranks, SharedArenas& arenas, const ArenaNeed& need,
                             std::shared_ptr<SharedArena>& arena, bool& made);

}  // namespace tilepost::cuda
