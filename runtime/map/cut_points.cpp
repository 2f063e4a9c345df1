#include "runtime/map/cut_points.h"

#include <algorithm>
#include <numeric>

namespace tilepost {
namespace {

int64_t ceil_div64(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

bool is_slots(const tilepost_map_t& map) {
  return map.division == TILEPOST_DIVISION_ROWS && map.layout == TILEPOST_TILE;
}

// The number of things that cuts count which a unit has (cut_points.h). A unit of tile rows is
// whole clusters. With SHARES the tile rows of a unit, taken from all shares together, are whole
// clusters. So are those taken from the shares of all ranks but this one with ARRIVALS, unless
// these shares take turns.
int64_t unit_size(const tilepost_map_t& map) {
  switch (map.division) {
    case TILEPOST_DIVISION_ROWS:
      return is_slots(map) ? 1 : map.cluster;
    case TILEPOST_DIVISION_SHARES:
      return map.cluster / std::gcd(map.ranks, map.cluster);
    case TILEPOST_DIVISION_ARRIVALS:
      return map.round_robin != 0 ? map.cluster
                                  : map.cluster / std::gcd(map.ranks - 1, map.cluster);
    case TILEPOST_DIVISION_COLUMNS:
      break;
  }
  return 1;
}

// The last cut: the number of tile rows, tile columns or positions in the whole schedule.
int64_t last_cut(const tilepost_map_t& map) {
  switch (map.division) {
    case TILEPOST_DIVISION_ROWS:
      return is_slots(map) ? ceil_div64(tiles_m(map), map.cluster) * map.cluster * tiles_n(map)
                           : tiles_m(map);
    case TILEPOST_DIVISION_SHARES:
      return share_tiles(map);
    case TILEPOST_DIVISION_ARRIVALS:
      return arriving_tiles(map);
    case TILEPOST_DIVISION_COLUMNS:
      break;
  }
  return tiles_n(map);
}

int64_t whole_clusters(const tilepost_map_t& map, int64_t rows) {
  return ceil_div64(rows, map.cluster) * map.cluster;
}

// SHARES: the number of tile rows before `cut` in all shares together. The last shares may be
// shorter. With turns each share is filled up to whole clusters.
int64_t rows_of_shares(const tilepost_map_t& map, int64_t cut) {
  int64_t rows = 0;
  for (int rank = 0; rank < map.ranks; ++rank) {
    const int64_t own = std::min(cut, ceil_div64(rows_of_rank(map, rank), map.tile_m));
    rows += map.turn > 0 ? whole_clusters(map, own) : own;
  }
  return rows;
}

// ARRIVALS: the number of positions before `cut`. They are the tile rows that lie inside the own
// share, wherever that share begins, and an equal part of all other tile rows. Both are filled up
// to whole clusters.
int64_t arrived_positions(const tilepost_map_t& map, int64_t cut) {
  const int64_t share = share_rows(map), all = tiles_m(map);
  const int64_t inside =
      map.ranks == 1 ? all : share / map.tile_m - (share % map.tile_m == 0 ? 0 : 1);
  const int64_t own = std::clamp<int64_t>(inside, 0, all);
  const int64_t arrived = ceil_div64((all - own) * cut, arriving_tiles(map));
  return (whole_clusters(map, own) + whole_clusters(map, arrived)) * tiles_n(map);
}

// CutPoint::elements of maps with ARRIVALS.
int64_t arrived_rows(const tilepost_map_t& map, int64_t cut) {
  const int64_t share = share_rows(map), tiles = share_tiles(map);
  if (map.round_robin == 0) return std::min(cut * map.tile_m, share) * map.ranks;
  return cut / tiles * share + std::min(cut % tiles * map.tile_m, share);
}

int64_t positions_before(const tilepost_map_t& map, int64_t cut) {
  switch (map.division) {
    case TILEPOST_DIVISION_ROWS:
      return is_slots(map) ? cut : whole_clusters(map, cut) * tiles_n(map);
    case TILEPOST_DIVISION_SHARES:
      return whole_clusters(map, rows_of_shares(map, cut)) * tiles_n(map);
    case TILEPOST_DIVISION_COLUMNS:
      return cut * whole_clusters(map, tiles_m(map));
    case TILEPOST_DIVISION_ARRIVALS:
      return arrived_positions(map, cut);
  }
  return 0;
}

int64_t elements_before(const tilepost_map_t& map, int64_t cut) {
  const int64_t slot = int64_t{map.tile_m} * map.tile_n, rows = tiles_m(map);
  switch (map.division) {
    case TILEPOST_DIVISION_ROWS:
      // Padding positions have no slot. They are spread evenly over the schedule.
      return is_slots(map) ? cut * rows / whole_clusters(map, rows) * slot
                           : std::min(cut * map.tile_m, map.m) * map.n;
    case TILEPOST_DIVISION_SHARES:
      return cut * map.tile_m * map.ranks * map.n;
    case TILEPOST_DIVISION_COLUMNS:
      return cut * slab_rows(map) * map.tile_n;
    case TILEPOST_DIVISION_ARRIVALS:
      return arrived_rows(map, cut);
  }
  return 0;
}

int64_t cut_of(const tilepost_map_t& map, int64_t unit) {
  return std::min(unit * unit_size(map), last_cut(map));
}

std::vector<CutPoint> thin_out(std::vector<CutPoint> points, int limit) {
  constexpr size_t kKept = 8;  // how many points are kept at either end, where small groups pay
  const size_t stride = (points.size() + limit - 1) / limit;
  if (stride <= 1) return points;
  std::vector<CutPoint> kept;
  for (size_t i = 0; i < points.size(); ++i)
    if (i < kKept || i + kKept >= points.size() || i % stride == 0) kept.push_back(points[i]);
  return kept;
}

std::vector<CutPoint> arrival_points(const tilepost_map_t& map, int limit) {
  std::vector<CutPoint> points;
  const int64_t units = cut_units(map), count = std::min<int64_t>(units, limit);
  for (int64_t i = 1; i <= count; ++i) points.push_back(cut_after(map, units * i / count));
  return points;
}

}  // namespace

int64_t cut_units(const tilepost_map_t& map) {
  return ceil_div64(last_cut(map), unit_size(map));
}

CutPoint cut_at(const tilepost_map_t& map, int32_t cut) {
  return {0, cut, positions_before(map, cut), elements_before(map, cut)};
}

CutPoint cut_after(const tilepost_map_t& map, int64_t unit) {
  return cut_at(map, static_cast<int32_t>(cut_of(map, unit)));
}

int64_t units_before(const tilepost_map_t& map, int32_t cut) {
  return ceil_div64(cut, unit_size(map));
}

int64_t complete_units(const tilepost_map_t& map, int64_t positions) {
  int64_t complete = 0, beyond = cut_units(map) + 1;
  while (complete + 1 < beyond) {
    const int64_t middle = complete + (beyond - complete) / 2;
    (positions_before(map, cut_of(map, middle)) <= positions ? complete : beyond) = middle;
  }
  return complete;
}

int64_t schedule_positions(const tilepost_map_t& map) {
  if (map.division == TILEPOST_DIVISION_ARRIVALS)
    return whole_clusters(map, tiles_m(map)) * tiles_n(map);
  return positions_before(map, last_cut(map));
}

int64_t schedule_waves(const tilepost_map_t& map, int at_once) {
  return ceil_div64(schedule_positions(map), at_once);
}

int64_t least_at_once(const tilepost_map_t& map, int64_t waves) {
  return whole_clusters(map, ceil_div64(schedule_positions(map), waves));
}

std::vector<CutPoint> cut_points(const tilepost_map_t& map, int at_once, int limit) {
  if (map.division == TILEPOST_DIVISION_ARRIVALS) return arrival_points(map, limit);
  std::vector<CutPoint> points;
  const int64_t waves = schedule_waves(map, at_once);
  for (int64_t wave = 1; wave <= waves; ++wave) {
    CutPoint point = cut_after(map, complete_units(map, wave * at_once));
    point.wave = static_cast<int>(wave);
    if (point.cut > (points.empty() ? 0 : points.back().cut)) points.push_back(point);
  }
  return thin_out(std::move(points), limit);
}

}  // namespace tilepost
