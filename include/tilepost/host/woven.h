// What the marks become in a woven host kernel: the plan's schedule, destinations and counters.
//
// This is the counterpart of device/woven.cuh. On the host a "block" is one thread, so tile_done
// with BlockStores completes the ordinary stores of the calling thread.
#ifndef TILEPOST_HOST_WOVEN_H
#define TILEPOST_HOST_WOVEN_H

#include <thread>

#include "tilepost/host/exchange.h"
#include "tilepost/internal/layout.h"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::woven {

// What the runtime passes to a kernel, together with what is known when the kernel is compiled. A
// generated view derives from this one. It states what is different by members of the same names:
//
//   struct View : tilepost::woven::View {
//     static constexpr int kTileM = 128, kTileN = 256;
//     static constexpr bool kWaits = true;
//   };
//
// A generated view adds no data, so that the runtime can pass the plain structure.
struct View : tilepost_view_t {
  static constexpr Layout kLayout = Layout::panel;
  static constexpr int kTileM = 0, kTileN = 0;  // every generated view has its own
  // Whether rows go where the view's row_map says (routing rows).
  static constexpr bool kRouted = false;
  // Whether A arrives while the kernel runs (TILEPOST_DIVISION_ARRIVALS).
  static constexpr bool kWaits = false;
  // Whether tiles raise their group's counter when they are done. With kWaits they do not, because
  // the counters then say which rows of A have arrived.
  static constexpr bool kRaises = true;
  // Whether tiles go into the memory of the rank that owns their rows (TILEPOST_ACCESS_WRITE).
  static constexpr bool kStores = false;
  // The kernels of kRanks ranks exchange tiles (TILEPOST_ACCESS_TILES), in kShots
  // (tilepost_shots_t). Each rank gets all rows or, with kScatters, its share of them. A rank gets
  // sums or, without kSums, every rank's part. With kGathers the kernels exchange rows of A
  // instead.
  static constexpr int kShots = TILEPOST_SHOTS_NONE, kRanks = 1;
  static constexpr bool kScatters = false, kSums = true, kGathers = false;
};

// Refuses a view that contradicts itself. Every woven kernel instantiates this, since it calls
// tile().
template <class View>
struct CheckedView {
  static_assert(View::kTileM > 0 && View::kTileN > 0, "a view says how large its tiles are");
  static_assert(!View::kStores ||
                    (View::kLayout == Layout::panel && !View::kRouted && !View::kWaits),
                "owners get whole rows of their own, as soon as they are computed");
  static constexpr bool kIsRight = true;
};

// The experts of a grouped GEMM, with the ends that the run has.
template <class View>
inline Experts experts(const View& view) {
  return {view.expert_ends, view.experts, view.token_tiles, view.row_tokens, view.most_tokens,
          view.token_rows,  view.rank,    view.own_tokens,  view.all_tokens};
}

// How many positions the schedule has, padding included.
template <class View>
inline int num_tiles(const View& view, const TileGrid& /*grid*/) {
  return view.num_tiles;
}

// The tile at `position` of the plan's schedule, 0 <= position < num_tiles.
template <class View>
inline Tile tile(const View& view, const TileGrid& /*grid*/, int position) {
  static_assert(CheckedView<View>::kIsRight);
  const tilepost_tile_t& entry = view.tiles[position];
  return Tile{entry.m, entry.n, entry.row, entry.group};
}

// kStores: the rank that owns a row of the output.
inline int owner_of(const tilepost_view_t& view, int row) {
  return row / view.share_rows;
}

// kStores: element (row, col) of the output in the memory of `owner`. A tile may extend below its
// owner's rows. The rows there belong to another owner, for whom another tile computes them, so
// they are dropped here.
template <class T>
inline T& out_at(const tilepost_view_t& view, int owner, int row, int col, int ld) {
  static thread_local T dropped;
  const int line = row - owner * view.share_rows;
  if (line >= view.share_rows) return dropped;
  return static_cast<T*>(view.peer_out[owner])[int64_t{line} * ld + col];
}

// The destination of element (row, col) of a tile. `ld` is the row length of the row-major output,
// in elements. In the tile layout rows are tile_n elements long.
template <class View, class T>
inline T& out(const View& view, T* c, const TileGrid& /*grid*/, const Tile& tile, int row, int col,
              int ld) {
  if constexpr (View::kStores)
    return out_at<T>(view, owner_of(view, tile.m), tile.m + row, tile.n + col, ld);
  const int in_tile = View::kRouted ? view.row_map[tile.m + row] : row;
  const int64_t line = int64_t{tile.row} + in_tile;
  if constexpr (View::kLayout == Layout::panel)
    return c[line * ld + tile.n + col];
  else
    return c[line * View::kTileN + col];
}

// The destination of element (row, col) of the whole output.
template <class View, class T>
inline T& out(const View& view, T* c, int row, int col, int ld) {
  if constexpr (View::kStores) return out_at<T>(view, owner_of(view, row), row, col, ld);
  const bool in_order = View::kLayout == Layout::panel && !View::kRouted && view.share_tiles == 0;
  if (in_order) return c[int64_t{row} * ld + col];
  const int share = view.share_tiles == 0 ? 0 : row / view.share_rows;
  const int in_share = row - share * view.share_rows;
  const int tile_row = share * view.share_tiles + in_share / View::kTileM;
  const int position = view.positions[tile_row * view.tiles_n + col / View::kTileN];
  const int in_tile = View::kRouted ? view.row_map[row] : in_share % View::kTileM;
  const int64_t line = int64_t{view.tiles[position].row} + in_tile;
  if constexpr (View::kLayout == Layout::panel)
    return c[line * ld + col];
  else
    return c[line * View::kTileN + col % View::kTileN];
}

// The destination of element (row, col) of a tile as coordinates: x along a row, y down the rows of
// the output or, with kStores, of the owner's memory.
template <class View>
inline Coord out_coord(const View& view, const TileGrid& /*grid*/, const Tile& tile, int row,
                       int col) {
  if constexpr (View::kStores)
    return Coord{tile.n + col, tile.m - owner_of(view, tile.m) * view.share_rows + row};
  else if constexpr (View::kLayout == Layout::panel)
    return Coord{tile.n + col, tile.row + row};
  else
    return Coord{col, tile.row + row};
}

// Waits until the group's input has arrived. The thread that copied the input here has raised the
// counter with a release operation, and the acquire load reads its value or a later one (C++20
// [intro.races] 5). The wait also ends when the runtime gives a run up, because it then raises all
// counters. Where rows of A are exchanged, waits for the flags of the rows that the tile has. In a
// run in sequence all rows are there before the kernel starts.
template <class View>
inline void input_ready(const View& view, const Tile& tile, BlockLoads) {
  if constexpr (View::kGathers) {
    if (gathers(view)) await_tile(view, view.exchange, tile);
  } else if constexpr (View::kWaits) {
    const uint32_t* counter = view.counters + int64_t{tile.group} * TILEPOST_COUNTER_STRIDE;
    while (static_cast<int32_t>(__atomic_load_n(counter, __ATOMIC_ACQUIRE) - view.ready) < 0)
      std::this_thread::yield();
  }
}

// The scales of all rows are in one place, into which steps bring those of other ranks' rows.
template <class View>
inline const float* in_scales(const View& /*view*/, const float* scales, const Tile& /*tile*/,
                              unsigned /*run*/) {
  return scales;
}

// Adds one to the counter of the tile's group. This is a release operation: what is sequenced
// before it happens before everything after an acquire load that reads its value, or a value that
// later additions made from it, since read-modify-writes continue the release sequence (C++20
// [atomics.order] 2, [intro.races] 5). So one load that sees the target has acquired every tile of
// the group.
inline void post(uint32_t* counters, const Tile& tile) {
  __atomic_fetch_add(counters + int64_t{tile.group} * TILEPOST_COUNTER_STRIDE, 1u,
                     __ATOMIC_RELEASE);
}

// Raises the group's counter after the tile's stores. Where the stores went to the memory of the
// rank that owns the tile's rows, raises the counter there, and none for padding, which no rank
// owns.
template <class View>
inline void tile_done(const View& view, const Tile& tile, BlockStores) {
  // A plan whose kernels exchange tiles may also have runs in sequence, which wait for all tiles.
  if constexpr (View::kShots != 0) {
    if (!exchanges(view)) post(view.counters, tile);
    return;
  }
  // Where A arrives, the counters say what has arrived, and nothing waits for tiles.
  if constexpr (View::kWaits || !View::kRaises) return;
  if constexpr (!View::kStores)
    post(view.counters, tile);
  else if (!tile.is_padding())
    post(view.peer_counters[owner_of(view, tile.m)], tile);
}

}  // namespace tilepost::woven

#endif  // TILEPOST_HOST_WOVEN_H
