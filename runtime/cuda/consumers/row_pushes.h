// Rows of A that a kernel in front of the GEMM stores in the memory of all other ranks
// (RunPath::pushes_tokens). The rows of each group are cut into chunks. Blocks share the chunks of
// all groups, and count them at the group's counter of every other rank, where tiles wait until the
// chunks of all ranks have been counted.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/schedule/run_map.h"
#include "tilepost/internal/token_tiles.h"

namespace tilepost::cuda {

// The bytes of a chunk: sixteen of each thread of a block.
constexpr int kPushingThreads = 1024;
constexpr int64_t kPushedChunk = int64_t{16} * kPushingThreads;

TILEPOST_INLINE constexpr int pushed_chunks(int64_t bytes) {
  return static_cast<int>((bytes + kPushedChunk - 1) / kPushedChunk);
}

// The rows that a rank pushes with a group. All of it is counted in bytes.
struct PushedRows {
  int64_t from;  // where they begin in the rank's `a`
  int64_t to;    // where they begin in the memory in which all rows come together
  int64_t bytes;
};

// The fields are the same for all ranks, unless the comment says otherwise.
struct RowPushes {
  const void* a;                      // this rank's rows
  void* const* there;                 // by rank: the memory in which all rows come together
  uint32_t* const* raise;             // by rank: its counters, one for each group
  const uint32_t* given_up;           // this rank's: not 0 after a wait has given up
  int rank;                           // this rank
  int ranks, groups;                  // how many there are
  PushedRows rows[kMostTokenGroups];  // by group, this rank's; group 0 has none
};

// Sets the rows of a run, which has pushed rows.
void find_pushed_rows(const tilepost_plan_t& plan, const RunMap& run, RowPushes& pushes);

// What a run adds to each of this rank's counters: the chunks of all other ranks.
std::vector<uint32_t> pushed_targets(const tilepost_plan_t& plan, const RunMap& run);

// How many chunks this rank has in all.
int all_pushed_chunks(const RowPushes& pushes);

}  // namespace tilepost::cuda
