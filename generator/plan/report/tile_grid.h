// The tiles of the product as blocks of one group each: what the picture's map of tiles draws.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "generator/plan/plan.h"

namespace tilepost {

// Tiles of one group that make a rectangle. Rows and columns count cells.
struct TileBlock {
  int row, column, rows, columns, group;
};

// The tile rows of a rank's share, counted in tiles; a share need not end where a tile does.
struct RankRows {
  int rank;
  double first, end;
};

struct DrawnTiles {
  int tile_rows = 0, tile_columns = 0;
  // Tiles that a cell stands for, down and across. A cell shows the group of the tile in its
  // middle.
  int grain_rows = 1, grain_columns = 1;
  int rows() const { return (tile_rows + grain_rows - 1) / grain_rows; }
  int columns() const { return (tile_columns + grain_columns - 1) / grain_columns; }
  std::vector<TileBlock> blocks;  // together all cells that have a tile
  // Empty where all rows go the same way, or where only a route says which way.
  std::vector<RankRows> ranks;
  std::string meaning;  // how ranks[i] relate to rows: "rows that a rank ends with"
};

// The finest grid that `most_blocks`, `most_rows` and `most_columns` allow. All three are at least
// 1.
DrawnTiles grid_of(const Plan& plan, size_t most_blocks, int most_rows, int most_columns);

}  // namespace tilepost
