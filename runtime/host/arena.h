// Memory of one rank into which the kernels of all ranks store where they exchange tiles
// (TILEPOST_ACCESS_TILES). It corresponds to the arena on GPUs (runtime/cuda/shared/arena.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/core/run_terms.h"
#include "tilepost/internal/exchange_words.h"
#include "tilepost/plan.h"

namespace tilepost {

// How much memory an operation needs there.
struct ArenaNeed {
  int parts;      // parts that have flags
  int64_t bytes;  // for its slots, or for what arrives of A; twice, by the parity of runs

  bool fits(const ArenaNeed& room) const { return parts <= room.parts && bytes <= room.bytes; }
};
ArenaNeed arena_need(const tilepost_plan_t& plan);

// Runs of all operations that share an arena follow each other in the same order on all ranks, and
// the arena numbers them. Other ranks hold a reference to the arena too, because they may store
// into it after its operations are gone.
class HostArena {
 public:
  HostArena(int ranks, const ArenaNeed& room);

  bool has_room(const ArenaNeed& need) const { return need.fits(room_); }
  // Fills in the places of the arena's regions. They are the same on every rank whose arena has as
  // much room.
  void place(tilepost_exchange_t& exchange);
  // The bytes of an arena with this room.
  static int64_t bytes_of(int ranks, const ArenaNeed& room);
  int64_t bytes() const { return static_cast<int64_t>(memory_.size() * sizeof(Line)); }
  char* memory() { return reinterpret_cast<char*>(memory_.data()); }

  // Words that only this rank changes: the number of its last run, and the kind of that run.
  uint32_t run[kReadWord + 1] = {};
  // The terms of this rank's last two runs, by the parity of the runs' numbers. A run's terms are
  // written before this rank announces that it has begun the run, and only ranks that have seen the
  // announcement read them. No rank ends a run before all others have begun it, and so have
  // compared the run before. So no terms are overwritten too early.
  RunTerms terms[2];

 private:
  struct alignas(128) Line {
    uint32_t words[TILEPOST_COUNTER_STRIDE];
  };

  const int ranks_;
  const ArenaNeed room_;
  std::vector<Line> memory_;
};

}  // namespace tilepost
