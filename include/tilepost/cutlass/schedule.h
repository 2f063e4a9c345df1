// Which tiles the roles of a CUTLASS kernel take, and where they go: arithmetic for CPU and GPU.
#ifndef TILEPOST_CUTLASS_SCHEDULE_H
#define TILEPOST_CUTLASS_SCHEDULE_H

#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::cutlass {

// What scheduler and epilogue need of a launch. Set by launch() (launch.hpp).
struct Schedule {
  const tilepost_tile_t* tiles = nullptr;  // [num_tiles]; null: nothing was set
  uint32_t* counters = nullptr;            // of groups, TILEPOST_COUNTER_STRIDE apart
  int num_tiles = 0;
  int tile_rows = 0;  // of the product: the row of tiles behind its last one has no elements
  int out_rows = 0;   // of the memory that tiles are stored to
};

// The position that a role works on for the nth time, from 0 on: `turns` roles of the block take
// turns at the block's positions, this one is number `turn`. The block's are those of
// Positions (device/positions.cuh).
TILEPOST_INLINE int position_of(int block, int blocks, int turns, int turn, int nth) {
  return block + (turn + nth * turns) * blocks;
}

// A tile among the tiles of the product.
struct Work {
  int row, column;
};

// Padding is computed behind the last row of tiles, where loads give zeros and no element is
// anybody's.
TILEPOST_INLINE Work work_of(const tilepost_tile_t& tile, int tile_m, int tile_n, int tile_rows) {
  return {tile.row < 0 ? tile_rows : tile.m / tile_m, tile.n / tile_n};
}

// By how many rows a tile's place is below the tile's own; kNowhere of padding.
inline constexpr int kNowhere = -0x7FFFFFFF - 1;
TILEPOST_INLINE int shift_of(const tilepost_tile_t& tile) {
  return tile.row < 0 ? kNowhere : tile.row - tile.m;
}

// A role has stored a tile of `group`, and its next one, if there are more, is of `next_group`: by
// how much it raises the counter of `group` now. A group waits for all its tiles, so a tile in
// front of another one of the same role's and group's is told of together with that. `untold`: of
// the role, 0 before its first tile.
TILEPOST_INLINE int told_behind(int group, bool more, int next_group, int& untold) {
  ++untold;
  if (more && next_group == group) return 0;
  const int told = untold;
  untold = 0;
  return told;
}

}  // namespace tilepost::cutlass

#endif  // TILEPOST_CUTLASS_SCHEDULE_H
