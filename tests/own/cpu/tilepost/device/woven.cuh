// What woven kernels without marks call, on a CPU.
#pragma once

#include "cuda_shim.h"
#include "tilepost/layout.h"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::woven {

struct View : tilepost_view_t {
  static constexpr Layout kLayout = Layout::panel;
  static constexpr int kTileM = 0, kTileN = 0;
  static constexpr bool kOverlaps = true;
};

template <class View>
Tile tile(const View& view, const TileGrid&, int position) {
  const tilepost_tile_t& entry = view.tiles[position];
  return Tile{entry.m, entry.n, entry.row, entry.group};
}

template <class View>
void tile_done(const View& view, const Tile& tile, BlockStores) {
  const bool first = threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0;
  if (first) ++view.counters[tile.group * TILEPOST_COUNTER_STRIDE];
}

}  // namespace tilepost::woven
