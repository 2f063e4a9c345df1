// What a woven CUDA kernel calls, on the CPU shim (cpu_shim.h): in place of device/woven.cuh.
#ifndef TILEPOST_CPU_WOVEN_H
#define TILEPOST_CPU_WOVEN_H

#include "runtime/verify/host/shim/cpu_shim.h"
#include "tilepost/layout.h"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::cpu {

// As device/woven.cuh has it, for kernels that store with ordinary stores.
struct View : tilepost_view_t {
  static constexpr Layout kLayout = Layout::panel;
  static constexpr int kTileM = 0, kTileN = 0;  // every view says its own
  static constexpr bool kRouted = false, kWaits = false, kRaises = true, kOverlaps = true;
};

}  // namespace tilepost::cpu

namespace tilepost::woven {

using cpu::View;

template <class View>
int num_tiles(const View& view, const TileGrid& /*grid*/) {
  return view.num_tiles;
}

template <class View>
Tile tile(const View& view, const TileGrid& /*grid*/, int position) {
  const tilepost_tile_t& entry = view.tiles[position];
  return Tile{entry.m, entry.n, entry.row, entry.group};
}

template <class View, class T>
T& out(const View& /*view*/, T* c, const TileGrid& /*grid*/, const Tile& tile, int row, int col,
       int ld) {
  return c[static_cast<ptrdiff_t>(tile.row + row) * ld + tile.n + col];
}

template <class View, class T>
T* out_base(const View& /*view*/, T* c, const TileGrid& /*grid*/, const Tile& tile, int ld) {
  return c + static_cast<ptrdiff_t>(tile.row - tile.m) * ld;
}

template <class View>
void raise(const View& view, const Tile& tile) {
  uint32_t& counter = view.counters[static_cast<ptrdiff_t>(tile.group) * TILEPOST_COUNTER_STRIDE];
  std::atomic_ref<uint32_t>(counter).fetch_add(1, std::memory_order_release);
}

// All threads of the block call: the barrier puts their stores before the release.
template <class View>
void tile_done(const View& view, const Tile& tile, BlockStores) {
  __syncthreads();
  if (cpu::thread_in_block() == 0) raise(view, tile);
}

// The lanes of a warp call.
template <class View>
void tile_done(const View& view, const Tile& tile, WarpStores) {
  __syncwarp();
  if (threadIdx.x % warpSize == 0) raise(view, tile);
}

}  // namespace tilepost::woven

#endif  // TILEPOST_CPU_WOVEN_H
