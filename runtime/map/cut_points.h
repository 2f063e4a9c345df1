// Where groups may end: the cuts that a tile map allows, and what lies before each of them.
#ifndef TILEPOST_CUT_POINTS_H
#define TILEPOST_CUT_POINTS_H

#include <cstdint>
#include <vector>

#include "runtime/map/tile_map.h"

namespace tilepost {

// In all of these the map's own cuts are not looked at. Its division says what cuts count, and one
// *unit* is the least a group may have: a row of clusters (ROWS, panel), a position (ROWS, tile),
// the fewest tile rows of every share that make whole clusters (SHARES, ARRIVALS; of one share, if
// they take turns), a tile column (COLUMNS).

// One place where a group may end.
struct CutPoint {
  int wave = 0;           // waves from the start of the schedule; ARRIVALS: 0
  int32_t cut = 0;        // tilepost_map_t::cuts
  int64_t positions = 0;  // of the schedule before it
  int64_t elements = 0;   // of the send buffer before it, in slot order to within a cluster;
                          // ARRIVALS: rows of all ranks' shares; rows that arrive, where they
                          // take turns
};

// Units of the whole schedule.
int64_t cut_units(const tilepost_map_t& map);

// The end of the first `unit` units; its wave is left 0.
CutPoint cut_after(const tilepost_map_t& map, int64_t unit);

// The point of a cut that need not be the end of a unit; its wave is left 0.
CutPoint cut_at(const tilepost_map_t& map, int32_t cut);

// The units before a cut.
int64_t units_before(const tilepost_map_t& map, int32_t cut);

// The most units that `positions` positions complete.
int64_t complete_units(const tilepost_map_t& map, int64_t positions);

// Positions of the whole schedule in one group; several may pad more clusters. ARRIVALS, where
// schedules have several: no rank's has fewer.
int64_t schedule_positions(const tilepost_map_t& map);

// Waves of `at_once` positions.
int64_t schedule_waves(const tilepost_map_t& map, int at_once);

// The fewest positions at once that take no more than `waves` waves, whole clusters.
int64_t least_at_once(const tilepost_map_t& map, int64_t waves);

// The distinct cut points, at most one per wave, the last one the end of the schedule. A cut is
// rounded down to the units that are complete when its wave ends, so that no group waits for a wave
// of which it has only a few tiles. More than `limit` are thinned out evenly, the first and last
// few kept. ARRIVALS: at most `limit` evenly spread over the shares, whatever the waves.
std::vector<CutPoint> cut_points(const tilepost_map_t& map, int at_once, int limit = 128);

}  // namespace tilepost

#endif  // TILEPOST_CUT_POINTS_H
