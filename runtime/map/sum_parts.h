// How ranks share the work where the kernel that sums tokens also adds up all ranks' sums
// (RunPath::sums_at_home). The rows of a share are cut into parts: a token, and some or all of its
// columns. A rank stores its sums of a part of another rank's share in that rank's slots, and
// raises a flag there. The share's own rank adds what has come to its own sums.
//
// A warp makes one part at a time, in the order of tickets. The others' parts of a number come
// before the own part that is `lag` numbers earlier. So whatever an own part waits for has a lower
// ticket on the rank that stores it, and ranks do not wait for each other in a circle
// (docs/internals/experts.md).
#ifndef TILEPOST_SUM_PARTS_H
#define TILEPOST_SUM_PARTS_H

#include <cstdint>

#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost {

// How shares are cut. All ranks cut all shares of a run alike.
struct SumParts {
  int rows = 0;     // of a whole share, as many as it has parts one below the other
  int columns = 1;  // of a part, at most
  int across = 1;   // parts side by side

  TILEPOST_INLINE constexpr int count() const { return rows * across; }
};

// The parts of a run of m rows. There are enough of them for all warps of a GPU, and as few as that
// allows, because each has a flag.
SumParts sum_parts(const tilepost_plan_t& plan, int64_t m);

// The most parts of a share in any run of the plan.
int most_sum_parts(const tilepost_plan_t& plan);

// Whose part a ticket is for, and its number. A number below 0, or of `count` and more, is
// nobody's.
struct SumTurn {
  int owner, number;
};
TILEPOST_INLINE constexpr SumTurn sum_turn(int ticket, int rank, int ranks, int lag) {
  const int number = ticket / ranks, turn = ticket - number * ranks;
  if (turn == ranks - 1) return {rank, number - lag};
  return {(rank + 1 + turn) % ranks, number};
}

// How many tickets a run has.
TILEPOST_INLINE constexpr int sum_tickets(const SumParts& parts, int ranks, int lag) {
  return ranks * (parts.count() + lag);
}

}  // namespace tilepost

#endif  // TILEPOST_SUM_PARTS_H
