// Which tiles the roles of a CUTLASS kernel take, and where the tiles go. A role is those threads
// of a block that walk the schedule together. This is arithmetic for CPU and GPU.
#ifndef TILEPOST_CUTLASS_SCHEDULE_H
#define TILEPOST_CUTLASS_SCHEDULE_H

#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::cutlass {

// What scheduler and epilogue need to know of a launch. launch() sets it (launch.hpp).
struct Schedule {
  const tilepost_tile_t* tiles = nullptr;  // [num_tiles]; null: nothing was set
  uint32_t* counters = nullptr;            // of groups, TILEPOST_COUNTER_STRIDE apart
  int num_tiles = 0;
  int tile_rows = 0;  // rows of tiles in the product; the row behind them has no elements
  int out_rows = 0;   // rows of the memory that tiles are stored to
};

// The position that a role works on for the nth time, counted from 0. `turns` roles of the block
// take turns at the block's positions, and this one is number `turn`. The block's positions are
// those of Positions (device/positions.cuh).
TILEPOST_INLINE int position_of(int block, int blocks, int turns, int turn, int nth) {
  return block + (turn + nth * turns) * blocks;
}

// The coordinates of a tile among the tiles of the product.
struct Work {
  int row, column;
};

// A padding tile is computed in the row of tiles behind the last one, where loads give zeros and no
// element belongs to anybody.
TILEPOST_INLINE Work work_of(const tilepost_tile_t& tile, int tile_m, int tile_n, int tile_rows) {
  return {tile.row < 0 ? tile_rows : tile.m / tile_m, tile.n / tile_n};
}

// By how many rows a tile's destination lies below the tile's own row; kNowhere for a padding tile.
inline constexpr int kNowhere = -0x7FFFFFFF - 1;
TILEPOST_INLINE int shift_of(const tilepost_tile_t& tile) {
  return tile.row < 0 ? kNowhere : tile.row - tile.m;
}

// Called when a role has stored a tile of `group`. `more` says whether the role has another tile,
// and `next_group` is the group of that tile. Returns by how much the role raises the counter of
// `group` now. Nothing can go on before all tiles of a group are there. So a role counts
// consecutive tiles of one group together, behind the last of them. `untold` is the role's number
// of tiles not counted yet; it is 0 before the role's first tile.
TILEPOST_INLINE int told_behind(int group, bool more, int next_group, int& untold) {
  ++untold;
  if (more && next_group == group) return 0;
  const int told = untold;
  untold = 0;
  return told;
}

}  // namespace tilepost::cutlass

#endif  // TILEPOST_CUTLASS_SCHEDULE_H
