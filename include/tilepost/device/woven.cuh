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

// tilepost_view_t with what is known when the kernel is compiled: the layout, the tile's size,
// whether rows go where the view's row map says (routing rows), and whether A arrives while the
// kernel runs (all_gather_gemm). Adds no data, so that the runtime passes the plain structure.
template <Layout kLayout, int kTileM, int kTileN, bool kRouted = false, bool kWaits = false>
struct View : tilepost_view_t {
  static_assert(kTileM > 0 && kTileN > 0);
};
static_assert(sizeof(View<Layout::panel, 1, 1>) == sizeof(tilepost_view_t));
static_assert(sizeof(tilepost_tile_t) == 16, "tile() reads an entry in one load");

// How many positions the schedule has, padding included.
template <Layout kLayout, int kTileM, int kTileN, bool kRouted, bool kWaits>
__device__ __forceinline__ int num_tiles(const View<kLayout, kTileM, kTileN, kRouted, kWaits>& view,
                                         const TileGrid& /*grid*/) {
  return view.num_tiles;
}

// The tile at `position` of the plan's schedule, 0 <= position < num_tiles.
template <Layout kLayout, int kTileM, int kTileN, bool kRouted, bool kWaits>
__device__ __forceinline__ Tile tile(const View<kLayout, kTileM, kTileN, kRouted, kWaits>& view,
                                     const TileGrid& /*grid*/, int position) {
  const ptx::Quad entry = ptx::load_readonly(view.tiles + position);
  return Tile{entry.x, entry.y, entry.z, entry.w};
}

// The destination of element (row, col) of a tile. `ld` is the row length of the row-major output;
// in the tile layout rows are tile_n elements long.
template <Layout kLayout, int kTileM, int kTileN, bool kRouted, bool kWaits, class T>
__device__ __forceinline__ T& out(const View<kLayout, kTileM, kTileN, kRouted, kWaits>& view, T* c,
                                  const TileGrid& /*grid*/, const Tile& tile, int row, int col,
                                  int ld) {
  const int in_tile = kRouted ? view.row_map[tile.m + row] : row;
  const long long line = static_cast<long long>(tile.row) + in_tile;
  if constexpr (kLayout == Layout::panel)
    return c[line * ld + tile.n + col];
  else
    return c[line * kTileN + col];
}

// The destination of element (row, col) of the whole output.
template <Layout kLayout, int kTileM, int kTileN, bool kRouted, bool kWaits, class T>
__device__ __forceinline__ T& out(const View<kLayout, kTileM, kTileN, kRouted, kWaits>& view, T* c,
                                  int row, int col, int ld) {
  const bool in_order = kLayout == Layout::panel && !kRouted && view.share_tiles == 0;
  if (in_order) return c[static_cast<long long>(row) * ld + col];
  const int share = view.share_tiles == 0 ? 0 : row / view.share_rows;
  const int in_share = row - share * view.share_rows;
  const int tile_row = share * view.share_tiles + in_share / kTileM;
  const int position = view.positions[tile_row * view.tiles_n + col / kTileN];
  const int in_tile = kRouted ? view.row_map[row] : in_share % kTileM;
  const long long line = static_cast<long long>(view.tiles[position].row) + in_tile;
  if constexpr (kLayout == Layout::panel)
    return c[line * ld + col];
  else
    return c[line * kTileN + col % kTileN];
}

// The same place for a TMA store: x along a row, y down the rows of the output's tensor map.
template <Layout kLayout, int kTileM, int kTileN, bool kRouted, bool kWaits>
__device__ __forceinline__ Coord
out_coord(const View<kLayout, kTileM, kTileN, kRouted, kWaits>& /*view*/, const TileGrid& /*grid*/,
          const Tile& tile, int row, int col) {
  static_assert(!kRouted, "rows that go to places of their own are stored one by one");
  if constexpr (kLayout == Layout::panel)
    return Coord{tile.n + col, tile.row + row};
  else
    return Coord{col, tile.row + row};
}

// The counter of the tile's group.
__device__ __forceinline__ uint32_t* counter_of(const tilepost_view_t& view, const Tile& tile) {
  return view.counters + static_cast<long long>(tile.group) * TILEPOST_COUNTER_STRIDE;
}

// Waits until the group's input has arrived. Group 0 is this rank's own rows, which are there
// before the kernel starts. Whoever copied it here has released the counter at .sys scope after the
// copies were complete (a kernel behind them in their stream); the acquire that reads its value or
// a later one makes them visible to this thread (PTX ISA 8.9.4, 8.9.5). Polling with relaxed loads
// and acquiring once spares an invalidation of L1 per poll. Ends also when the runtime gives a run
// up: then it raises all counters.
__device__ __forceinline__ void wait_for_input(const tilepost_view_t& view, const Tile& tile) {
  constexpr unsigned kPollNanoseconds = 32;
  if (tile.group == 0) return;
  const uint32_t* counter = counter_of(view, tile);
  while (static_cast<int32_t>(ptx::load_relaxed_sys(counter) - view.ready) < 0)
    ptx::sleep_ns(kPollNanoseconds);
  ptx::load_acquire_sys(counter);
}

// For loads by the threads of the block; all of them call. Thread 0 acquires, and the barrier
// orders what it has observed before the loads of the others (PTX ISA, barrier; 8.9.5: causality
// order is transitive).
template <Layout kLayout, int kTileM, int kTileN, bool kRouted, bool kWaits>
__device__ __forceinline__ void input_ready(
    const View<kLayout, kTileM, kTileN, kRouted, kWaits>& view, const Tile& tile, BlockLoads) {
  if constexpr (kWaits) {
    if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0 && !tile.is_padding())
      wait_for_input(view, tile);
    __syncthreads();
  }
}

// For TMA loads by the calling thread, which alone calls. They go through the async proxy, in which
// an acquire of the generic proxy orders nothing: the proxy fence stands between them (PTX ISA,
// membar/fence: fence.proxy.async).
template <Layout kLayout, int kTileM, int kTileN, bool kRouted, bool kWaits>
__device__ __forceinline__ void input_ready(
    const View<kLayout, kTileM, kTileN, kRouted, kWaits>& view, const Tile& tile, BulkLoads) {
  if constexpr (kWaits) {
    if (tile.is_padding()) return;
    wait_for_input(view, tile);
    ptx::fence_global_to_async();
  }
}

// Raises the counter of the tile's group by one, releasing what the calling thread has stored or
// observed (ptx.cuh).
__device__ __forceinline__ void post(const tilepost_view_t& view, const Tile& tile) {
  ptx::red_release_sys(counter_of(view, tile), 1);
}

// For ordinary stores by the threads of the block; all of them call. The barrier orders every
// thread's earlier stores before what follows it in thread 0 (PTX ISA, barrier: it orders memory
// accesses among the participating threads), and the release is cumulative (8.9.5, Causality
// Order). Without the barrier, thread 0 would release its own stores only. Where A arrives,
// counters say what has, and nobody waits for tiles: here and below nothing is posted then.
template <Layout kLayout, int kTileM, int kTileN, bool kRouted, bool kWaits>
__device__ __forceinline__ void tile_done(
    const View<kLayout, kTileM, kTileN, kRouted, kWaits>& view, const Tile& tile, BlockStores) {
  if constexpr (kWaits) return;
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) post(view, tile);
}

// For ordinary stores by the lanes of a one-dimensional block's warp; all of them call.
// bar.warp.sync orders memory accesses among its participants as the block's barrier does (PTX ISA,
// bar.warp.sync).
template <Layout kLayout, int kTileM, int kTileN, bool kRouted, bool kWaits>
__device__ __forceinline__ void tile_done(
    const View<kLayout, kTileM, kTileN, kRouted, kWaits>& view, const Tile& tile, WarpStores) {
  if constexpr (kWaits) return;
  __syncwarp();
  if (threadIdx.x % 32 == 0) post(view, tile);
}

// For bulk-group stores issued and committed by the calling thread, which alone calls. They are not
// part of the thread's program order (PTX ISA, Async proxy and asynchronous operations), so a
// release says nothing of them before cp.async.bulk.wait_group 0 has returned: then the writes are
// made, visible to this thread, and passed from the async to the generic proxy. The .read form
// returns when shared memory may be reused, before the writes are made: it would not do.
template <Layout kLayout, int kTileM, int kTileN, bool kRouted, bool kWaits>
__device__ __forceinline__ void tile_done(
    const View<kLayout, kTileM, kTileN, kRouted, kWaits>& view, const Tile& tile, BulkStores) {
  if constexpr (kWaits) return;
  ptx::wait_bulk<0>();
  post(view, tile);
}

}  // namespace tilepost::woven

#endif  // TILEPOST_DEVICE_WOVEN_CUH
