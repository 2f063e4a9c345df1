// Where groups may end: the cuts that a tile map allows, and how much of the schedule lies before
// each.
#ifndef TILEPOST_CUT_POINTS_H
#define TILEPOST_CUT_POINTS_H

#include <cstdint>
#include <vector>

#include "runtime/map/tile_map.h"

namespace tilepost {

// None of these functions reads the map's own cuts. The map's division says what a cut counts. A
// *unit* is the least that a group may have:
//
// - ROWS, panel layout: a row of clusters
// - ROWS, tile layout: a position
// - SHARES, ARRIVALS: the fewest tile rows of every share that make whole clusters; if shares take
//   turns (round_robin), the fewest of one share
// - COLUMNS: a tile column

// A place where a group may end.
struct CutPoint {
  int wave = 0;           // the wave at whose end this is, counted from 1; 0 with ARRIVALS
  int32_t cut = 0;        // the value for tilepost_map_t::cuts
  int64_t positions = 0;  // how many positions of the schedule lie before the cut
  int64_t elements = 0;   // how many elements of the send buffer lie before the cut, in slot order
                          // to within a cluster. ARRIVALS: rows of all ranks' shares, or with
                          // round_robin, rows that arrive
};

// The number of units of the whole schedule.
int64_t cut_units(const tilepost_map_t& map);

// The cut point behind the first `unit` units. Its `wave` is 0.
CutPoint cut_after(const tilepost_map_t& map, int64_t unit);

// The cut point of `cut`, which need not be the end of a unit. Its `wave` is 0.
CutPoint cut_at(const tilepost_map_t& map, int32_t cut);

// The number of units before a cut.
int64_t units_before(const tilepost_map_t& map, int32_t cut);

// The number of units that are complete when the first `positions` positions are computed.
int64_t complete_units(const tilepost_map_t& map, int64_t positions);

// The number of positions of the whole schedule if it is one group. A schedule of several groups
// may have more positions, since each group is filled up to whole clusters. A schedule with
// ARRIVALS always has several groups. On no rank has it fewer positions than this.
int64_t schedule_positions(const tilepost_map_t& map);

// The number of waves of the schedule if `at_once` positions are computed at a time.
int64_t schedule_waves(const tilepost_map_t& map, int at_once);

// The least number of positions computed at a time, in whole clusters, with which the schedule
// takes at most `waves` waves.
int64_t least_at_once(const tilepost_map_t& map, int64_t waves);

// The distinct cut points. There is at most one for each wave, and the last one is the end of the
// schedule. A cut is rounded down to the units that are complete when its wave ends, so that no
// group waits for a wave of which it has only a few tiles. If there are more than `limit` points,
// they are thinned out evenly, but all of the first and the last few are kept. ARRIVALS: at most
// `limit` points, spread evenly over the shares, whatever the waves.
std::vector<CutPoint> cut_points(const tilepost_map_t& map, int at_once, int limit = 128);

}  // namespace tilepost

#endif  // TILEPOST_CUT_POINTS_H
