#include "tilepost/tile_map.h"

#include <algorithm>

namespace tilepost {
namespace {

int ceil_div(int64_t a, int64_t b) {
  return static_cast<int>((a + b - 1) / b);
}

// Appends the positions of tile rows [first, end) in bands of equal height, swept along n to and
// fro. Rows are padded to whole clusters; tiles beyond the output become padding (row -1).
// Destinations and groups are filled in later.
void append_rows(const tilepost_map_t& map, int first, int end, bool& backwards,
                 std::vector<tilepost_tile_t>& tiles) {
  const int columns = tiles_n(map);
  const int rows = ceil_div(end - first, map.cluster) * map.cluster;
  const int bands = ceil_div(rows, std::max(map.band, map.cluster));
  const int height = ceil_div(ceil_div(rows, bands), map.cluster) * map.cluster;
  for (int m0 = first; m0 < first + rows; m0 += height, backwards = !backwards) {
    const int m1 = std::min(m0 + height, first + rows);
    for (int i = 0; i < columns; ++i) {
      const int n = backwards ? columns - 1 - i : i;
      for (int m = m0; m < m1; ++m) tiles.push_back({m, n, m < tiles_m(map) ? 0 : -1, 0});
    }
  }
}

void build_panels(const tilepost_map_t& map, TileMap& out) {
  bool backwards = false;
  int first = 0;
  for (int g = 0; g < map.num_groups; ++g) {
    const int end = map.cuts[g];
    const int first_tile = static_cast<int>(out.tiles.size());
    append_rows(map, first, end, backwards, out.tiles);
    for (size_t t = first_tile; t < out.tiles.size(); ++t) {
      tilepost_tile_t& tile = out.tiles[t];
      if (tile.row >= 0) tile.row = tile.m * map.tile_m;
      tile.group = g;
    }
    const int num_tiles = static_cast<int>(out.tiles.size()) - first_tile;
    const int64_t first_row = int64_t{first} * map.tile_m;
    const int64_t end_row = std::min<int64_t>(int64_t{end} * map.tile_m, map.m);
    out.groups.push_back({first_tile, num_tiles,
                          static_cast<uint32_t>(num_tiles) * map.signals_per_tile,
                          first_row * map.n, (end_row - first_row) * map.n});
    first = end;
  }
  out.send_elements = map.m * map.n;
}

void build_slots(const tilepost_map_t& map, TileMap& out) {
  bool backwards = false;
  append_rows(map, 0, tiles_m(map), backwards, out.tiles);
  const int64_t slot_elements = int64_t{map.tile_m} * map.tile_n;
  int slot = 0, first = 0;
  for (int g = 0; g < map.num_groups; ++g) {
    const int end = map.cuts[g];
    const int first_slot = slot;
    for (int t = first; t < end; ++t) {
      tilepost_tile_t& tile = out.tiles[t];
      if (tile.row >= 0) tile.row = slot++ * map.tile_m;
      tile.group = g;
    }
    out.groups.push_back({first, end - first,
                          static_cast<uint32_t>(end - first) * map.signals_per_tile,
                          first_slot * slot_elements, (slot - first_slot) * slot_elements});
    first = end;
  }
  out.send_elements = slot * slot_elements;
}

}  // namespace

int tiles_m(const tilepost_map_t& map) {
  return ceil_div(map.m, map.tile_m);
}
int tiles_n(const tilepost_map_t& map) {
  return ceil_div(map.n, map.tile_n);
}

TileMap build_tile_map(const tilepost_map_t& map) {
  TileMap out;
  if (map.layout == TILEPOST_PANEL)
    build_panels(map, out);
  else
    build_slots(map, out);
  out.positions.assign(static_cast<size_t>(tiles_m(map)) * tiles_n(map), -1);
  for (size_t t = 0; t < out.tiles.size(); ++t)
    if (out.tiles[t].row >= 0)
      out.positions[static_cast<size_t>(out.tiles[t].m) * tiles_n(map) + out.tiles[t].n] =
          static_cast<int32_t>(t);
  return out;
}

std::vector<int32_t> destination_rows(const TileMap& tile_map) {
  std::vector<int32_t> rows;
  rows.reserve(tile_map.positions.size());
  for (const int32_t position : tile_map.positions) rows.push_back(tile_map.tiles[position].row);
  return rows;
}

uint64_t hash_tile_map(const TileMap& tile_map) {
  uint64_t hash = 0xcbf29ce484222325u;
  const auto mix = [&](uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) {
      hash ^= (value >> (8 * byte)) & 0xff;
      hash *= 0x100000001b3u;
    }
  };
  for (const tilepost_tile_t& tile : tile_map.tiles) {
    mix(static_cast<uint32_t>(tile.m) | uint64_t{static_cast<uint32_t>(tile.n)} << 32);
    mix(static_cast<uint32_t>(tile.row) | uint64_t{static_cast<uint32_t>(tile.group)} << 32);
  }
  for (const tilepost_group_t& group : tile_map.groups) {
    mix(group.target);
    mix(static_cast<uint64_t>(group.offset));
    mix(static_cast<uint64_t>(group.count));
  }
  return hash;
}

}  // namespace tilepost
