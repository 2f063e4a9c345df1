// How the blocks of a kernel without marks are numbered.
#pragma once

namespace tilepost {

// Which block of the plain kernel makes which tile. A block has the coordinates x, y and z. A tile
// has a row and a column, out of `rows` rows and `columns` columns of tiles.
enum class BlockOrder {
  columns_then_rows,  // x is the tile's column, y its row; coordinates not named are 0
  rows_then_columns,  // x is the row, y the column
  columns_and_depth,  // x is the column, z the row
  rows_and_depth,     // x is the row, z the column
  linear_by_rows,     // x is row * columns + column
  linear_by_columns,  // x is column * rows + row
  table,              // another order, which holds for one shape
};

}  // namespace tilepost
