// What the marks become in a woven host kernel: the plan's schedule, destinations and counters.
//
// The counterpart of device/woven.cuh. On the host a "block" is one thread: BlockStores completes
// the ordinary stores of the calling thread.
#ifndef TILEPOST_HOST_WOVEN_H
#define TILEPOST_HOST_WOVEN_H

#include <thread>

#include "tilepost/layout.h"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::woven {

// tilepost_view_t with the layout, the tile's size, whether rows go where the view's row map says,
// and whether A arrives while the kernel runs as constants; adds no data.
template <Layout kLayout, int kTileM, int kTileN, bool kRouted = false, bool kWaits = false>
struct View : tilepost_view_t {
  static_assert(kTileM > 0 && kTileN > 0);
};

// How many positions the schedule has, padding included.
template <Layout kLayout, int kTileM, int kTileN, bool kRouted, bool kWaits>
inline int num_tiles(const View<kLayout, kTileM, kTileN, kRouted, kWaits>& view,
                     const TileGrid& /*grid*/) {
  return view.num_tiles;
}

// The tile at `position` of the plan's schedule, 0 <= position < num_tiles.
template <Layout kLayout, int kTileM, int kTileN, bool kRouted, bool kWaits>
inline Tile tile(const View<kLayout, kTileM, kTileN, kRouted, kWaits>& view,
                 const TileGrid& /*grid*/, int position) {
  const tilepost_tile_t& entry = view.tiles[position];
  return Tile{entry.m, entry.n, entry.row, entry.group};
}

// The destination of element (row, col) of a tile. `ld` is the row length of the row-major output;
// in the tile layout rows are tile_n elements long.
template <Layout kLayout, int kTileM, int kTileN, bool kRouted, bool kWaits, class T>
inline T& out(const View<kLayout, kTileM, kTileN, kRouted, kWaits>& view, T* c,
              const TileGrid& /*grid*/, const Tile& tile, int row, int col, int ld) {
  const int in_tile = kRouted ? view.row_map[tile.m + row] : row;
  const int64_t line = int64_t{tile.row} + in_tile;
  if constexpr (kLayout == Layout::panel)
    return c[line * ld + tile.n + col];
  else
    return c[line * kTileN + col];
}

// The destination of element (row, col) of the whole output.
template <Layout kLayout, int kTileM, int kTileN, bool kRouted, bool kWaits, class T>
inline T& out(const View<kLayout, kTileM, kTileN, kRouted, kWaits>& view, T* c, int row, int col,
              int ld) {
  const bool in_order = kLayout == Layout::panel && !kRouted && view.share_tiles == 0;
  if (in_order) return c[int64_t{row} * ld + col];
  const int share = view.share_tiles == 0 ? 0 : row / view.share_rows;
  const int in_share = row - share * view.share_rows;
  const int tile_row = share * view.share_tiles + in_share / kTileM;
  const int position = view.positions[tile_row * view.tiles_n + col / kTileN];
  const int in_tile = kRouted ? view.row_map[row] : in_share % kTileM;
  const int64_t line = int64_t{view.tiles[position].row} + in_tile;
  if constexpr (kLayout == Layout::panel)
    return c[line * ld + col];
  else
    return c[line * kTileN + col % kTileN];
}

// The same place as x along a row, y down the rows.
template <Layout kLayout, int kTileM, int kTileN, bool kRouted, bool kWaits>
inline Coord out_coord(const View<kLayout, kTileM, kTileN, kRouted, kWaits>& /*view*/,
                       const TileGrid& /*grid*/, const Tile& tile, int row, int col) {
  if constexpr (kLayout == Layout::panel)
    return Coord{tile.n + col, tile.row + row};
  else
    return Coord{col, tile.row + row};
}

// The counter of the tile's group.
inline uint32_t* counter_of(const tilepost_view_t& view, const Tile& tile) {
  return view.counters + int64_t{tile.group} * TILEPOST_COUNTER_STRIDE;
}

// Waits until the group's input has arrived: who copied it here has raised the counter with a
// release operation, which the acquire load reads or a later one (C++20 [intro.races] 5). Ends also
// when the runtime gives a run up: then it raises all counters.
template <Layout kLayout, int kTileM, int kTileN, bool kRouted, bool kWaits>
inline void input_ready(const View<kLayout, kTileM, kTileN, kRouted, kWaits>& view,
                        const Tile& tile, BlockLoads) {
  if constexpr (kWaits) {
    const uint32_t* counter = counter_of(view, tile);
    while (static_cast<int32_t>(__atomic_load_n(counter, __ATOMIC_ACQUIRE) - view.ready) < 0)
      std::this_thread::yield();
  }
}

// Raises the group's counter after the tile's stores. The addition is a release operation, so the
// stores are sequenced before it and happen before everything after an acquire load that reads its
// value or one that later additions built on it: read-modify-writes continue the release sequence
// (C++20 [atomics.order] 2, [intro.races] 5). One load that sees the target has therefore acquired
// every tile of the group.
template <Layout kLayout, int kTileM, int kTileN, bool kRouted, bool kWaits>
inline void tile_done(const View<kLayout, kTileM, kTileN, kRouted, kWaits>& view, const Tile& tile,
                      BlockStores) {
  // Where A arrives, counters say what has, and nobody waits for tiles.
  if constexpr (!kWaits) __atomic_fetch_add(counter_of(view, tile), 1u, __ATOMIC_RELEASE);
}

}  // namespace tilepost::woven

#endif  // TILEPOST_HOST_WOVEN_H
