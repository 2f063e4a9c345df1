// The functions that a woven CUDA kernel calls on the CPU shim (cpu_shim.h), in place of
// device/woven.cuh.
#ifndef TILEPOST_CPU_WOVEN_H
#define TILEPOST_CPU_WOVEN_H

#include <thread>

#include "runtime/verify/host/shim/cpu_shim.h"
#include "tilepost/internal/layout.h"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::cpu {

// The view of device/woven.cuh, for kernels that store with ordinary stores.
struct View : tilepost_view_t {
  static constexpr Layout kLayout = Layout::panel;
  static constexpr int kTileM = 0, kTileN = 0;  // each kernel's view defines its own
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

// All threads of the block call this. What the first thread has acquired is visible to the other
// threads' loads after the barrier.
template <class View>
void input_ready(const View& view, const Tile& tile, BlockLoads) {
  if constexpr (View::kWaits) {
    uint32_t& counter = view.counters[static_cast<ptrdiff_t>(tile.group) * TILEPOST_COUNTER_STRIDE];
    const auto left = [&] {
      const uint32_t count = std::atomic_ref<uint32_t>(counter).load(std::memory_order_acquire);
      return static_cast<int32_t>(count - view.ready);
    };
    if (cpu::thread_in_block() == 0)
      while (left() < 0) std::this_thread::yield();
    __syncthreads();
  }
}

// All threads of the block call this. The barrier orders their stores before the release. Where A
// arrives, counters count arrived rows, and tiles raise none.
template <class View>
void tile_done(const View& view, const Tile& tile, BlockStores) {
  if constexpr (View::kWaits) return;
  __syncthreads();
  if (cpu::thread_in_block() == 0) raise(view, tile);
}

struct ThreadStores {
  unsigned* left;
};

inline void count_threads(unsigned* left) {
  if (cpu::thread_in_block() == 0) *left = blockDim.x * blockDim.y * blockDim.z;
  __syncthreads();
}

// Each thread of the block calls this when it ends. All of them run on one thread of the CPU.
template <class View>
void tile_done(const View& view, const Tile& tile, ThreadStores stores) {
  if constexpr (View::kWaits) return;
  if (--*stores.left == 0) raise(view, tile);
}

// All lanes of a warp call this.
template <class View>
void tile_done(const View& view, const Tile& tile, WarpStores) {
  if constexpr (View::kWaits) return;
  __syncwarp();
  if (threadIdx.x % warpSize == 0) raise(view, tile);
}

}  // namespace tilepost::woven

#endif  // TILEPOST_CPU_WOVEN_H
