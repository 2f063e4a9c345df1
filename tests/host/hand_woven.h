// A host kernel woven by hand. It has the form that the weaver gives templates/gemm_host.cpp, and
// faults that a test can ask for.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tilepost/host/woven.h"
#include "tilepost/numeric.h"

namespace hand_woven {

enum class Fault {
  none,
  swapped_rows,    // two tiles' destinations are exchanged
  missing_signal,  // the last position never raises its counter
  early_signal,    // the last position raises its counter, sleeps, and only then stores
  late_return,     // all results are right, but the kernel sleeps before it returns
  early_launch,    // neither tiles nor launches wait for rows of A that arrive
};

// Long enough for the collective to overtake what comes after the sleep.
constexpr std::chrono::milliseconds kSleep{50};

// How many calls of the kernel with Fault::late_return have returned.
inline std::atomic<int> late_returns{0};

template <class View, class Element>
void store_tile(const View& view, Element* c, const tilepost::TileGrid& grid,
                const tilepost::Tile& tile, const std::vector<float>& sums,
                const tilepost_shape_t& shape) {
  for (int row = 0; row < std::min(grid.tile_m, shape.m - tile.m); ++row)
    for (int col = 0; col < std::min(grid.tile_n, shape.n - tile.n); ++col)
      tilepost::woven::out(view, c, grid, tile, row, col, shape.ldc) =
          tilepost::from_float<Element>(sums[row * grid.tile_n + col]);
}

// The view that the generator would write.
template <tilepost::Layout layout, int tile_m, int tile_n, bool routed, bool waits, bool stores,
          bool raises = true>
struct View : tilepost::woven::View {
  static constexpr tilepost::Layout kLayout = layout;
  static constexpr int kTileM = tile_m, kTileN = tile_n;
  static constexpr bool kRouted = routed, kWaits = waits, kStores = stores, kRaises = raises;
};

template <class Element>
std::vector<float> tile_sums(const Element* a, const Element* b, const tilepost::TileGrid& grid,
                             const tilepost::Tile& tile, const tilepost_shape_t& shape) {
  std::vector<float> sums(grid.tile_m * grid.tile_n);
  for (int row = 0; row < std::min(grid.tile_m, shape.m - tile.m); ++row)
    for (int col = 0; col < std::min(grid.tile_n, shape.n - tile.n); ++col)
      for (int k = 0; k < shape.k; ++k)
        sums[row * grid.tile_n + col] +=
            tilepost::to_float(a[int64_t{tile.m + row} * shape.lda + k]) *
            tilepost::to_float(b[int64_t{tile.n + col} * shape.ldb + k]);
  return sums;
}

// A tilepost_host_kernel_t.
template <tilepost::Layout kLayout, int kTileM, int kTileN, class Element, Fault kFault,
          bool kRouted = false, bool kWaits = false, bool kStores = false, bool kRaises = true>
void kernel(const void* a, const void* b, void* c, tilepost_shape_t shape,
            tilepost_epilogue_t /*epilogue*/, int worker, int workers, tilepost_view_t plain_view) {
  using PlanView = View<kLayout, kTileM, kTileN, kRouted, kWaits, kStores, kRaises>;
  std::vector<tilepost_tile_t> tiles(plain_view.tiles, plain_view.tiles + plain_view.num_tiles);
  if (kFault == Fault::swapped_rows) {
    std::swap(tiles.front().row, tiles.back().row);
    plain_view.tiles = tiles.data();
  }
  const PlanView view{{plain_view}};
  const tilepost::TileGrid grid{
      (shape.m + kTileM - 1) / kTileM, (shape.n + kTileN - 1) / kTileN, kTileM, kTileN, 1, 1};
  const int last = tilepost::woven::num_tiles(view, grid) - 1;  // -1: no tiles
  for (int position = worker; position <= last; position += workers) {
    const tilepost::Tile tile = tilepost::woven::tile(view, grid, position);
    const bool early = kFault == Fault::early_signal && position == last;
    if (early) {
      tilepost::woven::tile_done(view, tile, tilepost::BlockStores{});
      std::this_thread::sleep_for(kSleep);
    }
    if (!tile.is_padding()) tilepost::woven::input_ready(view, tile, tilepost::BlockLoads{});
    if (!tile.is_padding())
      store_tile(view, static_cast<Element*>(c), grid, tile,
                 tile_sums(static_cast<const Element*>(a), static_cast<const Element*>(b), grid,
                           tile, shape),
                 shape);
    if (early || (kFault == Fault::missing_signal && position == last)) continue;
    tilepost::woven::tile_done(view, tile, tilepost::BlockStores{});
  }
  if (kFault == Fault::late_return) {
    std::this_thread::sleep_for(kSleep);
    ++late_returns;
  }
}

}  // namespace hand_woven
