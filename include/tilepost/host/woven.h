// What the marks become in a woven host kernel: the plan's schedule, destinations and counters.
//
// The counterpart of device/woven.cuh. On the host a "block" is one thread: BlockStores completes
// the ordinary stores of the calling thread.
#ifndef TILEPOST_HOST_WOVEN_H
#define TILEPOST_HOST_WOVEN_H

#include "tilepost/layout.h"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::woven {

// tilepost_view_t with the layout and the tile's size as constants; adds no data.
template <Layout kLayout, int kTileM, int kTileN>
struct View : tilepost_view_t {
  static_assert(kTileM > 0 && kTileN > 0);
};

// How many positions the schedule has, padding included.
template <Layout kLayout, int kTileM, int kTileN>
inline int num_tiles(const View<kLayout, kTileM, kTileN>& view, const TileGrid& /*grid*/) {
  return view.num_tiles;
}

// The tile at `position` of the plan's schedule, 0 <= position < num_tiles.
template <Layout kLayout, int kTileM, int kTileN>
inline Tile tile(const View<kLayout, kTileM, kTileN>& view, const TileGrid& /*grid*/,
                 int position) {
  const tilepost_tile_t& entry = view.tiles[position];
  return Tile{entry.m, entry.n, entry.row, entry.group};
}

// The destination of element (row, col) of a tile. `ld` is the row length of the row-major output;
// in the tile layout rows are tile_n elements long.
template <Layout kLayout, int kTileM, int kTileN, class T>
inline T& out(const View<kLayout, kTileM, kTileN>& /*view*/, T* c, const TileGrid& /*grid*/,
              const Tile& tile, int row, int col, int ld) {
  const int64_t line = int64_t{tile.row} + row;
  if constexpr (kLayout == Layout::panel)
    return c[line * ld + tile.n * kTileN + col];
  else
    return c[line * kTileN + col];
}

// The destination of element (row, col) of the whole output.
template <Layout kLayout, int kTileM, int kTileN, class T>
inline T& out(const View<kLayout, kTileM, kTileN>& view, T* c, int row, int col, int ld) {
  if constexpr (kLayout == Layout::panel) {
    return c[int64_t{row} * ld + col];
  } else {
    const int position = view.positions[row / kTileM * view.tiles_n + col / kTileN];
    const int64_t line = int64_t{view.tiles[position].row} + row % kTileM;
    return c[line * kTileN + col % kTileN];
  }
}

// The same place as x along a row, y down the rows.
template <Layout kLayout, int kTileM, int kTileN>
inline Coord out_coord(const View<kLayout, kTileM, kTileN>& /*view*/, const TileGrid& /*grid*/,
                       const Tile& tile, int row, int col) {
  if constexpr (kLayout == Layout::panel)
    return Coord{tile.n * kTileN + col, tile.row + row};
  else
    return Coord{col, tile.row + row};
}

// Raises the group's counter after the tile's stores. The addition is a release operation, so the
// stores are sequenced before it and happen before everything after an acquire load that reads its
// value or one that later additions built on it: read-modify-writes continue the release sequence
// (C++20 [atomics.order] 2, [intro.races] 5). One load that sees the target has therefore acquired
// every tile of the group.
template <Layout kLayout, int kTileM, int kTileN>
inline void tile_done(const View<kLayout, kTileM, kTileN>& view, const Tile& tile, BlockStores) {
  __atomic_fetch_add(view.counters + int64_t{tile.group} * TILEPOST_COUNTER_STRIDE, 1u,
                     __ATOMIC_RELEASE);
}

}  // namespace tilepost::woven

#endif  // TILEPOST_HOST_WOVEN_H
