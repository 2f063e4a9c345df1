// The parts that the steps of patterns are made of, and the functions of each pattern. The file of
// a pattern has both the steps of ranks that exchange messages and those of ranks that share
// memory.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "runtime/map/steps.h"

namespace tilepost {

// The steps of one rank for one group, while the steps are made.
struct GroupSteps {
  const Exchange& exchange;
  const tilepost_map_t& map;  // the map of `exchange`
  const TileMap& tile_map;
  int group, rank;
  const RowCounts& counts;
  std::vector<Step>& steps;

  // Whether ranks that share memory read each other's memory. If not, they write it.
  bool reads() const { return exchange.access == TILEPOST_ACCESS_READ; }

  void add(const Step& step) { steps.push_back(step); }
  void add_some(const Step& step) {
    if (step.count > 0) add(step);
  }
  void announce(StepKind kind) { add({kind, 0, 0, 0, 0, 0}); }

  // Calls `body` for each other rank, the next one first. All ranks are at the same distance at the
  // same time, so the ranks do not all access one rank at once.
  template <class Body>
  void for_others(Body body) const {
    for (int distance = 1; distance < exchange.ranks; ++distance)
      body((rank + distance) % exchange.ranks);
  }

  // Calls `body` for each of the group's tile columns (COLUMNS).
  template <class Body>
  void for_columns(Body body) const {
    for (int64_t n = group == 0 ? 0 : map.cuts[group - 1]; n < map.cuts[group]; ++n) body(n);
  }
};

// The functions of a pattern. `messages` makes a rank's steps for a group where ranks exchange
// messages, and `shared` where they share memory.
struct PatternSteps {
  void (*messages)(GroupSteps& own);
  void (*shared)(GroupSteps& own);
  // received_elements (runtime/map/steps.h). If null, `out` has the elements that this rank's
  // kernel stores.
  int64_t (*received)(const Exchange& exchange, const TileMap& tile_map, int rank,
                      const RowCounts& counts) = nullptr;
  // The elements that send_buffer_elements (runtime/map/steps.h) needs at least, where these may be
  // more than the kernel stores. Null if they never are.
  int64_t (*sent)(const Exchange& exchange) = nullptr;
};
extern const PatternSteps kGemmAllReduceSteps, kGemmReduceScatterSteps, kGemmAllToAllSteps,
    kAllGatherGemmSteps, kAllToAllGemmSteps;

// The number of rows of `part` that lie in a share of `share` rows.
inline int64_t valid_rows(const tilepost_map_t& map, const SharePart& part, int64_t share) {
  return std::clamp<int64_t>(share - part.first * map.tile_m, 0,
                             (part.end - part.first) * map.tile_m);
}

// SHARES: the first row that a group has for `destination`, in the send buffer of a rank with these
// splits. The parts of a share continue from group to group. So the parts of this group say how
// many rows the groups before it have.
int64_t part_row(const tilepost_map_t& map, std::span<const int64_t> splits, int group,
                 int destination);

// Routed rows: the first row that `source` has for `destination` in `group`, in the send buffer or
// in a slab. It follows from counts that all ranks know, so any rank can compute it for any two
// ranks.
int64_t sent_row(const Exchange& exchange, int group, int source, int destination,
                 const RowCounts& counts);

// Panel layout: the first row of `rank`'s out that arrives from `source` in `group`.
int64_t arriving_row(int group, int source, int rank, const RowCounts& counts);

// The number of columns of out as steps write it. With COLUMNS these are whole tiles.
int64_t out_width(const tilepost_map_t& map);

// The group's part of a rank's share of a sum, in elements.
struct SummedPart {
  int64_t in_share;   // where it starts in a row-major share, which is a block of slots
  int64_t in_output;  // where it starts in the row-major product
  int64_t count;
};
SummedPart summed_part(const GroupSteps& own, int rank);

// Adds the steps by which the parts of this rank's rows of the group come together in its slots,
// where ranks share memory. The parts are summed to element `to` of the memory that sums go to.
void sum_own_part(GroupSteps& own, const SummedPart& part, int64_t to);

// Rows of A that one rank brings to another, or to itself, in a group. All fields count elements.
struct MovedRows {
  int64_t in_a;         // where they start in the source's a
  int64_t in_gathered;  // where they start in the memory in which all rows come together
  int64_t count;
};
using RowsBetween = MovedRows (*)(const GroupSteps& own, int source, int rank);

// Group 0: adds the step for the rows that stay on this rank.
void bring_own_rows(GroupSteps& own, const MovedRows& rows);

// Ranks that share memory, group > 0: adds the steps by which a rank stores its rows where other
// ranks need them, and then waits for the other ranks' rows. Ranks push because copy engines push
// almost twice as fast as they pull. No other rank waits for a rank's own rows.
void push_and_land_rows(GroupSteps& own, RowsBetween between);

}  // namespace tilepost
