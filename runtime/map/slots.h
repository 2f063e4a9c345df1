// Where parts of sums lie with the rank that owns the rows, and where a kernel that stores by owner
// puts a rank's rows. In elements of the output's type.
#ifndef TILEPOST_SLOTS_H
#define TILEPOST_SLOTS_H

#include <cstdint>

#include "tilepost/plan.h"

namespace tilepost {

// A rank's slots: blocks one after the other, each of the rows that this rank gets, row-major.
struct Slots {
  int64_t block;  // elements of a block: of a share's whole tile rows. Sums have one such block.
  int blocks;     // one for each rank that parts come from; TILEPOST_SUM_ADDED: one for all;
                  // TILEPOST_ACCESS_TILES: one for each rank, and again, by the run's parity

  int64_t elements() const { return block * blocks; }
  // Where element `element` of the share lies as `source` has it.
  int64_t at(int source, int64_t element) const {
    return (blocks == 1 ? 0 : source) * block + element;
  }
};

// TILEPOST_ACCESS_WRITE: elements from one row to the next where a kernel of another rank stores
// rows: in slots, or in landed memory (tilepost_plan_t::row_gap).
int64_t stored_pitch(const tilepost_plan_t& plan);

// `map`: of the run for how much it needs, of the plan for where slots are, for that is the same in
// all of its runs.
Slots slots_of(const tilepost_plan_t& plan, const tilepost_map_t& map);

// TILEPOST_ACCESS_TILES: parts of all tiles of the plan's largest run, each of which a CTA raises
// the counter for; or, where sums are fused, of the tiles of a share. And the most lines of one
// that a rank gets (TILEPOST_ONE_SHOT_LINES). Where rows of A move: parts of any rank's rows.
int exchanged_parts(const tilepost_plan_t& plan);
int64_t lines_of_part(const tilepost_plan_t& plan);

// TILEPOST_ACCESS_TILES, rows of A: units of sixteen bytes of a row (of an element, where that is
// no whole number of them, which GPUs do not have), and of a part of a rank's rows in a run of m
// rows: as few as the helper warps of a CTA store at a time, or more where else there
// were more parts than CTAs, up to what their threads keep in registers.
int32_t units_of_row(const tilepost_plan_t& plan);
int32_t units_of_part(const tilepost_plan_t& plan, int64_t m);

// TILEPOST_ACCESS_TILES: rows of a slot on `rank` in a run of `map`. Where a rank gets its share of
// the rows, room for a box comes first. Two shots: boxes take turns among the ranks, and lie one
// behind the other; as many on every rank.
int64_t exchanged_rows(const tilepost_plan_t& plan, const tilepost_map_t& map, int rank);

// TILEPOST_ACCESS_WRITE, All-to-All: the row of `owner`'s landed memory where what `source` stores
// there begins; rows_of_rank(map, owner) rows, in the order of out. `map` is of the run.
int64_t landed_row(const tilepost_map_t& map, int source, int owner);

// Where a kernel of `source` stores the rows of `owner`, by RunPath::by_owner.
struct OwnerPlace {
  bool in_slots;  // or in landed memory, where rows lie in the order of out
  int64_t first;  // element
};
// `map` is of the run, `slots` the owner's.
OwnerPlace place_at_owner(const tilepost_plan_t& plan, const Slots& slots,
                          const tilepost_map_t& map, int source, int owner);

}  // namespace tilepost

#endif  // TILEPOST_SLOTS_H
