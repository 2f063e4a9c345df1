// Memory of one rank into which the kernels of all ranks store where they exchange tiles
// (TILEPOST_ACCESS_TILES): what is an arena on GPUs (runtime/cuda/shared/arena.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/core/run_terms.h"
#include "tilepost/internal/exchange_words.h"
#include "tilepost/plan.h"

namespace tilepost {

// What an operation stores there.
struct ArenaNeed {
  int parts;      // that have flags
  int64_t bytes;  // of its slots, or of the rows of A that arrive
};
ArenaNeed arena_need(const tilepost_plan_t& plan);

// Runs of all operations that share it come one behind the other, in the same order on all ranks,
// and have its numbers. Other ranks hold a reference too: they may store after its operations have
// gone.
class HostArena {
 public:
  HostArena(int ranks, const ArenaNeed& room);

  bool has_room(const ArenaNeed& need) const {
    return need.parts <= room_.parts && need.bytes <= room_.bytes;
  }
  // Fills in where things are, the same on every rank whose arena has as much room.
  void place(tilepost_exchange_t& exchange);
  int64_t bytes() const { return static_cast<int64_t>(memory_.size() * sizeof(Line)); }
  char* memory() { return reinterpret_cast<char*>(memory_.data()); }

  // This rank's, and its own to change: the run that it is in, and the kind of the one before.
  uint32_t run[kReadWord + 1] = {};
  // What the last two of its runs are, by the parity of their numbers. Written before the run is
  // said to have begun, and read by who has seen that. No rank begins a run before all others have
  // begun the last one, and so looked at the one before that.
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
