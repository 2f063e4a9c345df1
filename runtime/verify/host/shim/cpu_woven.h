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
Tile tile(const View& view, const TileGrid& /*grid*/, int position) {
  const tilepost_tile_t& entry = view.tiles[position];
  return Tile{entry.m, entry.n, entry.row, entry.group};
}

// All threads of the block call: the barrier puts their stores before the release.
template <class View>
void tile_done(const View& view, const Tile& tile, BlockStores) {
  __syncthreads();
  if (cpu::thread_in_block() != 0) return;
  uint32_t& counter = view.counters[static_cast<ptrdiff_t>(tile.group) * TILEPOST_COUNTER_STRIDE];
  std::atomic_ref<uint32_t>(counter).fetch_add(1, std::memory_order_release);
}

}  // namespace tilepost::woven

#endif  // TILEPOST_CPU_WOVEN_H
