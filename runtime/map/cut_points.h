// Where groups may end: the cuts that a tile map allows, and how much of the schedule lies before
// each.
#ifndef TILEPOST_CUT_POINTS_H
#define TILEPOST_CUT_POINTS_H

#include <cstdint>
#include <vector>

#include "runtime/map/tile_map.h"

namespace tilepost {

// None of these functions reads the map's own cuts. The map's division says what cuts count. A
// *unit* is the least that a group may have: a row of clusters (ROWS, panel); a position (ROWS,
// tile); the fewest tile rows of every share that make whole clusters (SHARES, ARRIVALS), or of one
// share, if shares take turns (round_robin); a tile column (COLUMNS).

// One place where a group may end.
struct CutPoint {
  int wave = 0;           // waves from the start of the schedule; ARRIVALS: 0
  int32_t cut = 0;        // tilepost_map_t::cuts
  int64_t positions = 0;  // positions of the schedule before it
  int64_t elements = 0;   // elements of the send buffer before it, in slot order to within a
                          // cluster. ARRIVALS: rows of all ranks' shares, or with round_robin, rows
                          // that arrive
};

// Units of the whole schedule.
int64_t cut_units(const tilepost_map_t& map);

// The cut point behind the first `unit` units; its wave is left 0.
CutPoint cut_after(const tilepost_map_t& map, int64_t unit);

// The cut point of `cut`, which need not be the end of a unit; its wave is left 0.
CutPoint cut_at(const tilepost_map_t& map, int32_t cut);

// The number of units before a cut.
int64_t units_before(const tilepost_map_t& map, int32_t cut);

// The most units that `positions` positions complete.
int64_t complete_units(const tilepost_map_t& map, int64_t positions);

// Positions of the whole schedule in one group. A schedule of several groups may have more, since
// each is filled up to whole clusters. ARRIVALS schedules always have several: no rank's has fewer
// positions than this.
int64_t schedule_positions(const tilepost_map_t& map);

// Waves of the schedule if `at_once` positions are computed at a time.
int64_t schedule_waves(const tilepost_map_t& map, int at_once);

// The fewest positions computed at a time, in whole clusters, with which the schedule takes no more
// than `waves` waves.
int64_t least_at_once(const tilepost_map_t& map, int64_t waves);

// The distinct cut points. There is at most one for each wave, and the last one is the end of the
// schedule. A cut is rounded down to the units that are complete when its wave ends, so that no
// group waits for a wave of which it has only a few tiles. If there are more than `limit`, they are
// thinned out evenly, but for the first and the last few. ARRIVALS: at most `limit` points evenly
// spread over the shares, whatever the waves.
std::vector<CutPoint> cut_points(const tilepost_map_t& map, int at_once, int limit = 128);

}  // namespace tilepost

#endif  // TILEPOST_CUT_POINTS_H
