// What the marks become in a woven CUDA kernel: the plan's schedule, destinations and counters.
//
// The weaver turns tilepost::tile(grid, i) into tilepost::woven::tile(view_, grid, i), and so on
// for every mark that has a counterpart here. The un-woven meaning of each mark: mark.cuh.
#ifndef TILEPOST_DEVICE_WOVEN_CUH
#define TILEPOST_DEVICE_WOVEN_CUH

#include "tilepost/device/ptx.cuh"
#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/layout.h"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::woven {

// tilepost_view_t with the layout and the tile's size as constants; adds no data, so that the
// runtime passes the plain structure.
template <Layout kLayout, int kTileM, int kTileN>
struct View : tilepost_view_t {
  static_assert(kTileM > 0 && kTileN > 0);
};
static_assert(sizeof(View<Layout::panel, 1, 1>) == sizeof(tilepost_view_t));
static_assert(sizeof(tilepost_tile_t) == 16, "tile() reads an entry in one load");

// How many positions the schedule has, padding included.
template <Layout kLayout, int kTileM, int kTileN>
__device__ __forceinline__ int num_tiles(const View<kLayout, kTileM, kTileN>& view,
                                         const TileGrid& /*grid*/) {
  return view.num_tiles;
}

// The tile at `position` of the plan's schedule, 0 <= position < num_tiles.
template <Layout kLayout, int kTileM, int kTileN>
__device__ __forceinline__ Tile tile(const View<kLayout, kTileM, kTileN>& view,
                                     const TileGrid& /*grid*/, int position) {
  const ptx::Quad entry = ptx::load_readonly(view.tiles + position);
  return Tile{entry.x, entry.y, entry.z, entry.w};
}

// The destination of element (row, col) of a tile. `ld` is the row length of the row-major output;
// in the tile layout rows are tile_n elements long.
template <Layout kLayout, int kTileM, int kTileN, class T>
__device__ __forceinline__ T& out(const View<kLayout, kTileM, kTileN>& /*view*/, T* c,
                                  const TileGrid& /*grid*/, const Tile& tile, int row, int col,
                                  int ld) {
  const long long line = static_cast<long long>(tile.row) + row;
  if constexpr (kLayout == Layout::panel)
    return c[line * ld + tile.n * kTileN + col];
  else
    return c[line * kTileN + col];
}

// The destination of element (row, col) of the whole output.
template <Layout kLayout, int kTileM, int kTileN, class T>
__device__ __forceinline__ T& out(const View<kLayout, kTileM, kTileN>& view, T* c, int row, int col,
                                  int ld) {
  if constexpr (kLayout == Layout::panel) {
    return c[static_cast<long long>(row) * ld + col];
  } else {
    const int position = view.positions[row / kTileM * view.tiles_n + col / kTileN];
    const long long line = static_cast<long long>(view.tiles[position].row) + row % kTileM;
    return c[line * kTileN + col % kTileN];
  }
}

// The same place for a TMA store: x along a row, y down the rows of the output's tensor map.
template <Layout kLayout, int kTileM, int kTileN>
__device__ __forceinline__ Coord out_coord(const View<kLayout, kTileM, kTileN>& /*view*/,
                                           const TileGrid& /*grid*/, const Tile& tile, int row,
                                           int col) {
  if constexpr (kLayout == Layout::panel)
    return Coord{tile.n * kTileN + col, tile.row + row};
  else
    return Coord{col, tile.row + row};
}

// Raises the counter of the tile's group by one, releasing what the calling thread has stored or
// observed (ptx.cuh).
__device__ __forceinline__ void post(const tilepost_view_t& view, const Tile& tile) {
  ptx::red_release_sys(view.counters + static_cast<long long>(tile.group) * TILEPOST_COUNTER_STRIDE,
                       1);
}

// For ordinary stores by the threads of the block; all of them call. The barrier orders every
// thread's earlier stores before what follows it in thread 0 (PTX ISA, barrier: it orders memory
// accesses among the participating threads), and the release is cumulative (8.9.5, Causality
// Order). Without the barrier, thread 0 would release its own stores only.
template <Layout kLayout, int kTileM, int kTileN>
__device__ __forceinline__ void tile_done(const View<kLayout, kTileM, kTileN>& view,
                                          const Tile& tile, BlockStores) {
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) post(view, tile);
}

// For bulk-group stores issued and committed by the calling thread, which alone calls. They are not
// part of the thread's program order (PTX ISA, Async proxy and asynchronous operations), so a
// release says nothing of them before cp.async.bulk.wait_group 0 has returned: then the writes are
// made, visible to this thread, and passed from the async to the generic proxy. The .read form
// returns when shared memory may be reused, before the writes are made: it would not do.
template <Layout kLayout, int kTileM, int kTileN>
__device__ __forceinline__ void tile_done(const View<kLayout, kTileM, kTileN>& view,
                                          const Tile& tile, BulkStores) {
  ptx::wait_bulk<0>();
  post(view, tile);
}

}  // namespace tilepost::woven

#endif  // TILEPOST_DEVICE_WOVEN_CUH
