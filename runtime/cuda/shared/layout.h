// Where the regions of an operation lie in memory that ranks share (runtime/cuda/shared/memory.h).
#pragma once

#include <cstdint>

#include "runtime/cuda/shared/memory.h"
#include "runtime/schedule/run_map.h"

namespace tilepost::cuda {

// Offsets are in bytes from the beginning, and the same on every rank. Regions start at multiples
// of kRegionAlignment. A region that the plan does not need has no bytes.
//
// Other ranks write to memory from `pushed` on only while its rank is itself in a run that pushes
// sums. They may write to memory in front of `pushed` as soon as the run before has ended. Kernels
// that are whole runs may write there even earlier, and have two places for that. So only memory
// from `pushed` on keeps a run's results until this rank's next run.
struct SharedLayout {
  static constexpr int64_t kRegionAlignment = 1024;

  int64_t flags = 0;     // flags and counters: runtime/cuda/shared/flags.h
  int counters = 0;      // how many counters `flags` has room for
  int64_t warm_up = 0;   // what warming up moves; no other use
  int64_t arrived = 0;   // TILES: flags of parts (tilepost_exchange_t), which runs never reset
  int parts = 0;         // how many parts `arrived` has room for
  int64_t send = 0;      // READ: where the kernel stores
  int64_t gathered = 0;  // all rows of A, and behind them the scales that move with them
                         // (place_of_rows), in gathered_bytes; whole runs have a second place
                         // behind them, and choose by the run's parity
  int64_t gathered_bytes = 0;
  int64_t slots = 0;  // parts of sums: a block of slot_bytes for each rank that parts come from
                      // (TILEPOST_SUM_ADDED: one block; TILES: two for each, by the run's parity)
  int64_t slot_bytes = 0;
  int64_t sums = 0;    // AllReduce: this rank's rows, summed
  int64_t landed = 0;  // WRITE: rows from all ranks, in the order of out; if they are sums, from
                       // `pushed` on
  int64_t pushed = 0;
  int64_t bytes = 0;  // all regions
};

// The layout of a plan. `most`: the sizes of the plan's largest run (most_sizes), the same on every
// rank. There is room for the plan's counters and parts, and for `counters` and `parts` at least.
SharedLayout shared_layout(const tilepost_plan_t& plan, const RunSizes& most, int counters = 0,
                           int parts = 0);

// Whether an operation with the layout `wanted` finds room in memory that was laid out as `made`.
// It needs the same flags, room for what lies between them and `pushed`, and room for what lies
// behind `pushed`.
bool fits(const SharedLayout& made, const SharedLayout& wanted);

// One operation's regions in memory that outlives the operation.
class SharedRegions {
 public:
  SharedRegions() = default;
  SharedRegions(const SharedMemory& memory, const SharedLayout& layout)
      : memory_(&memory), layout_(layout) {}

  const SharedLayout& layout() const { return layout_; }
  // The addresses and ranks of SharedMemory.
  void* of(int rank, int64_t at) const { return memory_->of(rank, at); }
  void* own(int64_t at) const { return memory_->own(at); }
  int rank() const { return memory_->rank(); }
  int ranks() const { return memory_->ranks(); }

 private:
  const SharedMemory* memory_ = nullptr;
  SharedLayout layout_;
};

}  // namespace tilepost::cuda
