// Where the parts of sums lie in the memory of the rank that owns the rows, and where a kernel that
// stores by owner puts rows. Sizes and places count elements of the output's type.
#ifndef TILEPOST_SLOTS_H
#define TILEPOST_SLOTS_H

#include <cstdint>

#include "tilepost/plan.h"

namespace tilepost {

// A rank's slots: blocks one after the other. Each block has the rows of this rank's share,
// row-major.
struct Slots {
  int64_t block;  // elements of a block; for sums these are the whole tile rows of a share
  int blocks;     // one for each rank that parts come from. TILEPOST_SUM_ADDED: one for all ranks.
                  // TILEPOST_ACCESS_TILES: one for each rank and each parity of a run's number

  int64_t elements() const { return block * blocks; }
  // Where rank `source` stores its part of element `element` of the share.
  int64_t at(int source, int64_t element) const {
    return (blocks == 1 ? 0 : source) * block + element;
  }
};

// TILEPOST_ACCESS_WRITE: the number of elements from the start of a row to the start of the next,
// where a kernel of another rank stores rows in slots or in landed memory
// (tilepost_plan_t::row_gap).
int64_t stored_pitch(const tilepost_plan_t& plan);

// The slots of a run. With the run's map the result says how much memory that run needs. With the
// plan's map it says where slots lie, since their places are the same in all runs of the plan.
Slots slots_of(const tilepost_plan_t& plan, const tilepost_map_t& map);

// The number of parts of tiles, each of which has a flag. A part is what one CTA has of a tile.
//
// - TILEPOST_ACCESS_TILES: the parts of all tiles of the plan's largest run. Where rows of A move:
//   the parts of any rank's rows.
// - Fused plans: the parts of the tiles of a share, if they are summed. Where finished tiles cross
//   ranks, one more part stands for all of them together.
// - RunPath::sums_at_home: parts of a share (sum_parts.h).
int exchanged_parts(const tilepost_plan_t& plan);
// The most lines of a part that one rank gets (TILEPOST_ONE_SHOT_LINES).
int64_t lines_of_part(const tilepost_plan_t& plan);

// TILEPOST_ACCESS_TILES, rows of A. A *unit* is sixteen bytes. If a row is no whole number of
// sixteen bytes, which happens on the host target only, a unit is one element.
//
// units_of_row is the number of units of a row. units_of_part is the number of units of a part of a
// rank's rows in a run of m rows. It is what the helper warps of a CTA store at a time. Where there
// would be more parts than CTAs, it is doubled, up to what the threads of these warps keep in
// registers.
int32_t units_of_row(const tilepost_plan_t& plan);
int32_t units_of_part(const tilepost_plan_t& plan, int64_t m);

// TILEPOST_ACCESS_TILES: the number of rows of a slot on `rank` in a run of `map`. Where a rank
// gets its share of the rows, room for a box comes first. With two shots boxes go to the ranks in
// turn, and the boxes of one rank lie one behind the other. Then slots have equally many rows on
// every rank.
int64_t exchanged_rows(const tilepost_plan_t& plan, const tilepost_map_t& map, int rank);

// TILEPOST_ACCESS_WRITE, All-to-All: the first row of `owner`'s landed memory that `source` stores.
// It stores rows_of_rank(map, owner) rows, in the order of out. `map` is the run's.
int64_t landed_row(const tilepost_map_t& map, int source, int owner);

// The rows of `owner`'s output that rank `source` finishes in a fused plan. `map` is the run's.
struct RowsOfOut {
  int64_t first, count;
};
RowsOfOut rows_in_out(const tilepost_plan_t& plan, const tilepost_map_t& map, int source,
                      int owner);
// The most rows that the output has on any rank, where ranks push finished rows.
int64_t most_rows_of_out(const tilepost_plan_t& plan, const tilepost_map_t& map);

// Where the kernel of rank `source` stores the rows of rank `owner`, if the kernel looks up places
// by owner (RunPath::stores_by_owner).
struct OwnerPlace {
  bool in_slots;  // whether the place is in slots; if not, it is in landed memory, where rows lie
                  // in the order of out
  int64_t first;  // the first element
};
// `map` is the run's, `slots` the owner's.
OwnerPlace place_at_owner(const tilepost_plan_t& plan, const Slots& slots,
                          const tilepost_map_t& map, int source, int owner);

}  // namespace tilepost

#endif  // TILEPOST_SLOTS_H
