#include "generator/plan/report/tile_grid.h"

#include <algorithm>

#include "runtime/map/patterns.h"
#include "runtime/map/tile_map.h"

namespace tilepost {
namespace {

int ceil_div(int a, int b) {
  return (a + b - 1) / b;
}

// The group of a tile; -1 where a share has no such tile.
int group_at(const TileMap& map, const DrawnTiles& grid, int row, int column) {
  const int32_t position = map.positions[static_cast<size_t>(row) * grid.tile_columns + column];
  return position < 0 ? -1 : map.tiles[position].group;
}

// The group of a cell: that of the tile in its middle.
int group_of_cell(const TileMap& map, const DrawnTiles& grid, int row, int column) {
  const auto middle = [](int cell, int grain, int end) {
    const int first = cell * grain;
    return (first + std::min(first + grain, end) - 1) / 2;
  };
  return group_at(map, grid, middle(row, grid.grain_rows, grid.tile_rows),
                  middle(column, grid.grain_columns, grid.tile_columns));
}

// Blocks of cells. Consecutive cells of a row that have the same group make a run. A run with the
// same columns as a run in the row above becomes part of its block.
std::vector<TileBlock> blocks_of(const TileMap& map, const DrawnTiles& grid) {
  std::vector<TileBlock> blocks;
  std::vector<size_t> above, now;  // the blocks that the row above has, and this one
  for (int row = 0; row < grid.rows(); ++row, above.swap(now)) {
    now.clear();
    size_t i = 0;
    for (int column = 0, end = 0; column < grid.columns(); column = end) {
      const int group = group_of_cell(map, grid, row, column);
      for (end = column + 1; end < grid.columns();)
        if (group_of_cell(map, grid, row, end) == group)
          ++end;
        else
          break;
      if (group < 0) continue;
      while (i < above.size() && blocks[above[i]].column < column) ++i;
      if (i < above.size() && blocks[above[i]].column == column &&
          blocks[above[i]].columns == end - column && blocks[above[i]].group == group) {
        ++blocks[above[i]].rows;
        now.push_back(above[i]);
      } else {
        now.push_back(blocks.size());
        blocks.push_back({row, column, 1, end - column, group});
      }
    }
  }
  return blocks;
}

void add_ranks(const Plan& plan, DrawnTiles& grid) {
  const tilepost_map_t& map = plan.map;
  const PatternRow& pattern = row_of(plan);
  if (map.ranks <= 1 || is_routed(plan)) return;
  grid.meaning = pattern.moves_input()      ? "rank that the rows of A come from"
                 : pattern.product_leaves() ? "rank that the rows go to"
                                            : "rank that adds the rows up";
  const bool anew = map.division == TILEPOST_DIVISION_SHARES;  // tile rows begin with every share
  for (int rank = 0; rank < map.ranks; ++rank) {
    const double rows = static_cast<double>(rows_of_rank(map, rank)) / map.tile_m;
    const double first = anew ? static_cast<double>(rank) * share_tiles(map)
                              : static_cast<double>(first_row_of_rank(map, rank)) / map.tile_m;
    if (rows > 0) grid.ranks.push_back({rank, first, first + rows});
  }
}

}  // namespace

DrawnTiles grid_of(const Plan& plan, size_t most_blocks, int most_rows, int most_columns) {
  DrawnTiles grid;
  grid.tile_rows = map_tile_rows(plan.map);
  grid.tile_columns = tiles_n(plan.map);
  grid.grain_rows = ceil_div(grid.tile_rows, most_rows);
  grid.grain_columns = ceil_div(grid.tile_columns, most_columns);
  while ((grid.blocks = blocks_of(plan.tile_map(), grid)).size() > most_blocks &&
         (grid.rows() > 1 || grid.columns() > 1))
    (grid.rows() > grid.columns() ? grid.grain_rows : grid.grain_columns) *= 2;
  add_ranks(plan, grid);
  return grid;
}

}  // namespace tilepost
