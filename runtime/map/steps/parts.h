// What the steps of patterns are made of, and the table they stand in: a file per pattern has both
// what its ranks do with messages and what they do where they share memory.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "runtime/map/steps.h"

namespace tilepost {

// The steps of one rank for one group, as they are made.
struct GroupSteps {
  const Exchange& exchange;
  const tilepost_map_t& map;  // the exchange's
  const TileMap& tile_map;
  int group, rank;
  const RowCounts& counts;
  std::vector<Step>& steps;

  // Where ranks share memory: whether they read each other's.
  bool reads() const { return exchange.access == TILEPOST_ACCESS_READ; }

  void add(const Step& step) { steps.push_back(step); }
  void add_some(const Step& step) {
    if (step.count > 0) add(step);
  }
  void announce(StepKind kind) { add({kind, 0, 0, 0, 0, 0}); }

  // Each pair of ranks in the same distance at the same time, so that no rank is asked by all at
  // once.
  template <class Body>
  void for_others(Body body) const {
    for (int distance = 1; distance < exchange.ranks; ++distance)
      body((rank + distance) % exchange.ranks);
  }

  // The group's tile columns: COLUMNS.
  template <class Body>
  void for_columns(Body body) const {
    for (int64_t n = group == 0 ? 0 : map.cuts[group - 1]; n < map.cuts[group]; ++n) body(n);
  }
};

// A pattern's: runtime/map/steps.h says what each is for.
struct PatternSteps {
  void (*messages)(GroupSteps& own);
  void (*shared)(GroupSteps& own);
  // received_elements; null: what this rank's kernel stores.
  int64_t (*received)(const Exchange& exchange, const TileMap& tile_map, int rank,
                      const RowCounts& counts) = nullptr;
  // send_buffer_elements beyond what the kernel stores; null: none.
  int64_t (*sent)(const Exchange& exchange) = nullptr;
};
extern const PatternSteps kGemmAllReduceSteps, kGemmReduceScatterSteps, kGemmAllToAllSteps,
    kAllGatherGemmSteps, kAllToAllGemmSteps;

// Rows of `part` that lie in a share of `share` rows.
inline int64_t valid_rows(const tilepost_map_t& map, const SharePart& part, int64_t share) {
  return std::clamp<int64_t>(share - part.first * map.tile_m, 0,
                             (part.end - part.first) * map.tile_m);
}

// SHARES: first row, of the send buffer of a rank with these splits, of what a group has for
// `destination`. Parts of a share follow each other, so it needs no other group.
int64_t part_row(const tilepost_map_t& map, std::span<const int64_t> splits, int group,
                 int destination);

// Routed rows: first row, of the send buffer or of a slab, of what `source` has for `destination`
// in `group`; of any two ranks, from what all ranks know.
int64_t sent_row(const Exchange& exchange, int group, int source, int destination,
                 const RowCounts& counts);

// First row of out on `rank` of what arrives from `source` in `group`; panel.
int64_t arriving_row(int group, int source, int rank, const RowCounts& counts);

// Columns of out as steps write it: COLUMNS has whole tiles.
int64_t out_width(const tilepost_map_t& map);

// The group's part of a rank's share of a sum: elements.
struct SummedPart {
  int64_t in_share;   // where it starts in a row-major share, a block of slots
  int64_t in_output;  // and in the row-major product
  int64_t count;
};
SummedPart summed_part(const GroupSteps& own, int rank);

// Ranks that share memory: this rank's part of the group comes together in its slots and is summed
// to element `to` of where sums go.
void sum_own_part(GroupSteps& own, const SummedPart& part, int64_t to);

// Rows of A that one rank brings another, or itself, in a group: elements.
struct MovedRows {
  int64_t in_a;         // where they start in the source's a
  int64_t in_gathered;  // and where all rows come together
  int64_t count;
};
using RowsBetween = MovedRows (*)(const GroupSteps& own, int source, int rank);

// Group 0: what stays on this rank.
void bring_own_rows(GroupSteps& own, const MovedRows& rows);

// Ranks that share memory, group > 0: a rank stores its rows where they are needed, for copy
// engines push almost twice as fast as they pull, and waits for the others'. No other rank waits
// for its own rows.
void push_and_land_rows(GroupSteps& own, RowsBetween between);

}  // namespace tilepost
