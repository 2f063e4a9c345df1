#include "runtime/bench/gemm/place.h"
#include "runtime/map/patterns.h"

#include <algorithm>

namespace tilepost::bench {
namespace {

// The row in the kernel's output where each element lies, by row and tile column. A tile may cover
// rows of the next share, which has a tile of its own for them. So a row belongs to the last tile
// of its column that starts at or above it.
std::vector<int32_t> stored_rows(const RunMap& run) {
  const tilepost_map_t& map = run.map();
  const int columns = tiles_n(map);
  std::vector<tilepost_tile_t> tiles = run.tiles.tiles;
  std::erase_if(tiles, [](const tilepost_tile_t& tile) { return tile.row < 0; });
  std::sort(tiles.begin(), tiles.end(),
            [](const tilepost_tile_t& x, const tilepost_tile_t& y) { return x.m < y.m; });
  std::vector<int32_t> rows(static_cast<size_t>(map.m) * columns);
  for (const tilepost_tile_t& tile : tiles) {
    const int64_t end = std::min<int64_t>(tile.m + map.tile_m, map.m);
    for (int64_t row = tile.m; row < end; ++row)
      rows[row * columns + tile.n / map.tile_n] =
          tile.row + (run.row_map.empty() ? static_cast<int32_t>(row) - tile.m : run.row_map[row]);
  }
  return rows;
}

// The row in the result of a ReduceScatter or an All-to-All where each element lies, in tile
// layout. The result has one part after the other. Each part has a slab [rows of the part, tile_n]
// for each tile column.
std::vector<int32_t> slab_rows(std::span<const int64_t> parts, int columns) {
  std::vector<int32_t> rows;
  int64_t before = 0;
  for (const int64_t part : parts) {
    for (int64_t row = 0; row < part; ++row)
      for (int column = 0; column < columns; ++column)
        rows.push_back(static_cast<int32_t>(before * columns + column * part + row));
    before += part;
  }
  return rows;
}

}  // namespace

PlaceTable::PlaceTable(const std::vector<int32_t>& rows, int tile_n, int length)
    : rows_(upload(rows)), tile_n_(tile_n), length_(length) {}

PlaceTable kernel_place(const RunMap& run) {
  const tilepost_map_t& map = run.map();
  const bool panel = map.layout == TILEPOST_PANEL;
  // A kernel that stores by owner counts rows within the owner's share.
  const bool by_owner = run.access() == TILEPOST_ACCESS_WRITE;
  const bool in_order =
      by_owner || (panel && run.row_map.empty() && map.division != TILEPOST_DIVISION_SHARES);
  if (in_order) return {};
  return {stored_rows(run), map.tile_n, panel ? static_cast<int>(map.n) : map.tile_n};
}

PlaceTable out_place(const tilepost_plan_t& plan, std::span<const int64_t> rows_from) {
  const tilepost_map_t& map = plan.map;
  if (!keeps_tiles(plan)) return {};
  const int64_t share[] = {share_rows(map)};
  if (row_of(plan).out_is_share()) rows_from = share;
  if (rows_from.empty()) return kernel_place(*make_run_map(plan, 0, map.m));
  return {slab_rows(rows_from, tiles_n(map)), map.tile_n, map.tile_n};
}

}  // namespace tilepost::bench
