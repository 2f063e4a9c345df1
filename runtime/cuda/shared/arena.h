// Memory that ranks share, together with all that they count in it. It belongs to one operation, or
// to several operations of a communicator whose runs do not overlap (tilepost_options_t:
// share_memory).
//
// A run of any of these operations is a run of the arena. The number of runs, the flags and the
// counters go on from one operation's run to the next one's, so that a run begins when all ranks
// have ended the one before, whichever operation's that was (runtime/cuda/shared/flags.h). Each
// operation has regions of its own plan in the same memory. It finds there what the others have
// left, but no run reads what was not written in the same run (docs/internals/memory-model.md).
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

// The ranks that share memory, as one of them sees them: its number, on which device it is, how it
// tells the others numbers, and how long it waits for theirs (0: for ever).
struct SharedRanks {
  int rank, ranks, device;
  ControlChannel& channel;
  double seconds;
};

class SharedArena {
 public:
  // `id` is the number among the communicator's arenas, the same on all ranks.
  explicit SharedArena(int64_t id) : id_(id) {}
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;
  // Unless it was abandoned, frees what no rank may use any more.
  ~SharedArena();

  // Collective, as SharedMemory::create. Tries the memory out (access_test.h): TILEPOST_UNSUPPORTED
  // on all ranks where stores do not arrive.
  tilepost_result_t create(const SharedRanks& ranks, const SharedLayout& layout);

  // The first rank in whose memory additions by the others are lost, the same on all ranks; -1:
  // none. Plans whose kernels raise other ranks' counters cannot use the memory then.
  int loses_additions() const { return loses_additions_; }

  // Whether an operation of such a layout can have its regions here, and where they are.
  bool has_room(const SharedLayout& layout) const;
  SharedLayout place(const SharedLayout& layout) const;

  // All fields but page and deadline, which are the operation's.
  SharedFlags flags() const;
  uint32_t* done() const;

  int64_t id() const { return id_; }
  const SharedMemory& memory() const { return memory_; }
  // Whether any of its operations has runs that are a kernel alone, which meets the other ranks'
  // kernels itself (RunPath::whole_run). This is said before any such operation is made. The kernel
  // may take all SMs while it waits for the run before it to end. A kernel of this rank says that
  // that run has ended. It must be in front of the waiting kernel in its stream, or it might find
  // no SM.
  void expect_meetings() { has_meetings_.store(true); }
  bool has_meetings() const { return has_meetings_.load(); }
  // Eager runs of its operations follow each other.
  RunOrder& order() { return order_; }
  // Set when a run of any of them has failed.
  const AbortedFlag& aborted() const { return aborted_; }

  // After a failure another rank may go on using the memory: it will be left to the process.
  void abandon() { abandoned_ = true; }
  bool is_abandoned() const { return abandoned_; }

 private:
  tilepost_result_t make_numbers();
  tilepost_result_t start_late(uint32_t runs);
  tilepost_result_t try_out(const SharedRanks& ranks);

  const int64_t id_;
  SharedLayout layout_;  // of the operation that it was made for
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

// What an operation needs; the same on all ranks.
struct ArenaNeed {
  SharedLayout layout;
  bool shares;  // with other operations that do
};

// Finds the arena of an operation. One that shares gets the one of `arenas` that has room on every
// rank, the same one on all ranks. If there is none, or the operation does not share, a new one is
// `made`. Collective: waits for the other ranks.
tilepost_result_t find_arena(const SharedRanks& ranks, SharedArenas& arenas, const ArenaNeed& need,
                             std::shared_ptr<SharedArena>& arena, bool& made);

}  // namespace tilepost::cuda
