// Where a woven kernel puts its tiles: the compile-time twin of tilepost_layout_t (plan.h).
#ifndef TILEPOST_LAYOUT_H
#define TILEPOST_LAYOUT_H

namespace tilepost {

enum class Layout {
  panel,  // row-major output; a tile's row is a row of the output
  tile,   // one column of tiles in slot order; a tile's row is slot * tile_m
};

}  // namespace tilepost

#endif  // TILEPOST_LAYOUT_H
