// What the marks become in a woven CUDA kernel: the plan's schedule, destinations and counters.
//
// The weaver turns tilepost::tile(grid, i) into tilepost::woven::tile(view_, grid, i), and so on
// for every mark that has a counterpart here. mark.cuh says what each mark means un-woven.
#ifndef TILEPOST_DEVICE_WOVEN_CUH
#define TILEPOST_DEVICE_WOVEN_CUH

#include "tilepost/device/arrivals.cuh"
#include "tilepost/device/exchange.cuh"
#include "tilepost/device/exchange_rows.cuh"
#include "tilepost/device/ptx.cuh"
#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/device/sources.cuh"
#include "tilepost/device/tasks.cuh"
#include "tilepost/device/whole_run.cuh"
#include "tilepost/internal/layout.h"
#include "tilepost/internal/timeline_words.h"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::woven {

// What the runtime passes to a woven kernel, together with what is known when the kernel is
// compiled. A generated view derives from this one and overrides the constants that differ:
//
//   struct View : tilepost::woven::View {
//     static constexpr int kTileM = 128, kTileN = 256;
//     static constexpr bool kWaits = true;
//   };
//
// A derived view adds no data, so that the runtime passes the plain structure.
struct alignas(TILEPOST_TENSOR_MAP_ALIGNMENT) View : tilepost_view_t {
  static constexpr Layout kLayout = Layout::panel;
  static constexpr int kTileM = 0, kTileN = 0;  // every generated view has its own
  // Whether each row goes where the row map sends it (routing rows).
  static constexpr bool kRouted = false;
  // Whether A arrives while the kernel runs (TILEPOST_DIVISION_ARRIVALS).
  static constexpr bool kWaits = false;
  // Whether this rank's own rows of A are read where the caller has them
  // (tilepost_plan_t::reads_own).
  static constexpr bool kReadsOwn = false;
  // Whether a tile raises its group's counter when it is done. With kWaits no tile does, whatever
  // this constant is: the counters then say which rows of A have arrived.
  static constexpr bool kRaises = true;
  // Whether tiles go into the memory of the rank that owns their rows (TILEPOST_ACCESS_WRITE).
  static constexpr bool kStores = false;
  // Number of parts of a task: helper warps add several parts up, and move a single one; 0: there
  // are no tasks.
  static constexpr int kTaskParts = 0;
  // Whether helper warps write some of their results into all ranks' memory. With kWaits and no
  // tasks: whether a kernel in front of this one has written rows of A there.
  static constexpr bool kPushes = false;
  // Number of other ranks, if the epilogue does all that is to be done with tiles that cross ranks
  // (tilepost_plan_t::fused); otherwise 0.
  static constexpr int kOthers = 0;
  // Number of sources of each of this rank's own tiles, one from every other rank; 0: none.
  static constexpr int kSources = 0;
  // Whether finished tiles go straight into other ranks' outputs. With kSources sums go into the
  // outputs of all ranks. Otherwise a tile goes into the output of the rank that owns it.
  static constexpr bool kSpreads = false;
  // Whether something waits for tiles while the kernel runs, or A arrives while it runs.
  static constexpr bool kOverlaps = true;
  // Whether no kernel comes before or behind this one in a run that overlaps (kStores, or kWaits
  // with kPushes; tilepost_plan_t::whole_run). With kWaits, runs alternate between two sets of
  // kGroups counters.
  static constexpr bool kWholeRun = false;
  static constexpr int kGroups = 0;
  // How the kernels of kRanks ranks exchange tiles (TILEPOST_ACCESS_TILES, tilepost_shots_t); 0:
  // they do not.
  static constexpr int kShots = 0, kRanks = 0;
  // With kShots: whether a rank gets its share of the rows, and not all of them.
  static constexpr bool kScatters = false;
  // With kShots: whether the ranks' parts of a row are added up. If not, a rank that gets the row
  // gets the part of every rank.
  static constexpr bool kSums = true;
  // Whether the kernels of kRanks ranks exchange rows of A (TILEPOST_ACCESS_TILES).
  static constexpr bool kGathers = false;
  // With kShots: the kernels normalise the rows that they have summed, of kN elements
  // (tilepost_consumer_t); 0: they do not.
  static constexpr int kNorm = 0, kN = 0;
  // Tiles note when they were computed (`tilepost generate --timestamps`).
  static constexpr bool kStamps = false;
};
static_assert(sizeof(View) == sizeof(tilepost_view_t));
static_assert(sizeof(tilepost_tile_t) == 16, "tile() reads an entry in one load");

// Refuses a view that contradicts itself. Every woven kernel calls tile(), which instantiates this.
template <class View>
struct CheckedView {
  static_assert(View::kTileM > 0 && View::kTileN > 0, "a view says how large its tiles are");
  static_assert(!View::kStores ||
                    (View::kLayout == Layout::panel && !View::kRouted && !View::kWaits),
                "owners get whole rows of their own, as soon as they are computed");
  static_assert(View::kNorm == 0 || (View::kShots != 0 && View::kSums && View::kN % 8 == 0),
                "rows that are normalised are sums of other ranks' tiles, in vectors of 16 bytes");
  static_assert(View::kOthers == 0 || (View::kWholeRun && View::kTaskParts == 0),
                "the kernel is the whole run then, and leaves nothing for tasks");
  static_assert(View::kSources == 0 || View::kSources == View::kOthers,
                "each other rank has a part of a sum");
  static_assert(!View::kWholeRun || ((View::kStores || (View::kWaits && View::kPushes &&
                                                        View::kReadsOwn && View::kGroups > 0)) &&
                                     (View::kTaskParts > 0 || View::kOthers > 0)),
                "a run ends with its kernel where that does all there is to do");
  static constexpr bool kIsRight = true;
};

// The experts of a grouped GEMM, with the ends that the run has.
template <class View>
__device__ __forceinline__ Experts experts(const View& view) {
  return {view.expert_ends, view.experts, view.token_tiles, view.row_tokens, view.most_tokens,
          view.token_rows,  view.rank,    view.own_tokens,  view.all_tokens};
}

// How many positions the schedule has, padding included.
template <class View>
__device__ __forceinline__ int num_tiles(const View& view, const TileGrid& /*grid*/) {
  return view.num_tiles;
}

// The tile at `position` of the plan's schedule, 0 <= position < num_tiles.
template <class View>
__device__ __forceinline__ Tile tile(const View& view, const TileGrid& /*grid*/, int position) {
  static_assert(CheckedView<View>::kIsRight);
  const ptx::Quad entry = ptx::load_readonly(view.tiles + position);
  return Tile{entry.x, entry.y, entry.z, entry.w};
}

// The destination of element (row, col) of a tile. `ld` is the row length of the row-major output;
// in the tile layout rows are tile_n elements long.
template <class View, class T>
__device__ __forceinline__ T& out(const View& view, T* c, const TileGrid& /*grid*/,
                                  const Tile& tile, int row, int col, int ld) {
  static_assert(!View::kStores, "a kernel stores into other ranks' memory with TMA");
  const int in_tile = View::kRouted ? view.row_map[tile.m + row] : row;
  const long long line = static_cast<long long>(tile.row) + in_tile;
  if constexpr (View::kLayout == Layout::panel)
    return c[line * ld + tile.n + col];
  else
    return c[line * View::kTileN + col];
}

// The destination of element (row, col) of the whole output.
template <class View, class T>
__device__ __forceinline__ T& out(const View& view, T* c, int row, int col, int ld) {
  static_assert(!View::kStores, "a kernel stores into other ranks' memory with TMA");
  const bool in_order = View::kLayout == Layout::panel && !View::kRouted && view.share_tiles == 0;
  if (in_order) return c[static_cast<long long>(row) * ld + col];
  const int share = view.share_tiles == 0 ? 0 : row / view.share_rows;
  const int in_share = row - share * view.share_rows;
  const int tile_row = share * view.share_tiles + in_share / View::kTileM;
  const int position = view.positions[tile_row * view.tiles_n + col / View::kTileN];
  const int in_tile = View::kRouted ? view.row_map[row] : in_share % View::kTileM;
  const long long line = static_cast<long long>(view.tiles[position].row) + in_tile;
  if constexpr (View::kLayout == Layout::panel)
    return c[line * ld + col];
  else
    return c[line * View::kTileN + col % View::kTileN];
}

// The output, moved by so many rows that the tile's rows lie where they go.
template <class View, class T>
__device__ __forceinline__ T* out_base(const View& /*view*/, T* c, const TileGrid& /*grid*/,
                                       const Tile& tile, int ld) {
  static_assert(!View::kStores, "a kernel stores into other ranks' memory with TMA");
  static_assert(View::kLayout == Layout::panel && !View::kRouted,
                "rows of a tile keep their length and stay together");
  return c + static_cast<long long>(tile.row - tile.m) * ld;
}

// The tile's place for a TMA store: x along a row, y down the rows of out_map's tensor map.
template <class View>
__device__ __forceinline__ Coord out_coord(const View& view, const TileGrid& /*grid*/,
                                           const Tile& tile, int row, int col) {
  static_assert(!View::kRouted, "rows that go to places of their own are stored one by one");
  if constexpr (View::kStores)
    return Coord{tile.n + col, tile.m - owner_of(view, tile) * view.share_rows + row};
  else if constexpr (View::kLayout == Layout::panel)
    return Coord{tile.n + col, tile.row + row};
  else
    return Coord{col, tile.row + row};
}

// The place of a box that may go to several ranks: place number `place` of num_places().
template <class View, class Map>
__device__ __forceinline__ OutPlace<Map> out_place(const View& view, const TileStores& stores,
                                                   const Map* map, const TileGrid& grid,
                                                   const Tile& tile, int row, int rows, int col,
                                                   int place) {
  if constexpr (View::kShots != 0)
    if (exchanges(view))
      return place_in_slots<View, Map>(view, stores, tile, row, rows, col, place);
  const Coord coord = out_coord(view, grid, tile, row, col);
  return {map, coord.x, coord.y};
}

// The tensor map for the store at out_coord. It covers the memory of the rank that owns the tile's
// rows. For a tile of this rank's own that is finished when it is stored, it is `map`, which covers
// the caller's output.
template <class View, class Map>
__device__ __forceinline__ const Map* out_map(const View& view, const Map* map, const Tile& tile) {
  if constexpr (View::kOthers > 0) {
    const bool own = owner_of(view, tile) == view.rank;
    if (is_whole_run(view) && own) return map;
    if (is_whole_run(view) && View::kSources == 0)
      return reinterpret_cast<const Map*>(view.push_maps + owner_of(view, tile));
  }
  if constexpr (View::kStores)
    return static_cast<const Map*>(view.out_maps) + owner_of(view, tile);
  else
    return map;
}

// Acquires the maps of the ranks that own any of m rows, once for all of a thread's stores: no
// thread changes the maps while the kernel runs. The fence is for the memory that the maps
// describe. Its owner has read or zeroed that memory through the generic proxy in an earlier run.
// The kernels in front of this one, or (kWholeRun) this thread, acquired the end of that run. The
// proxy fence puts the end before what TMA does there (PTX ISA 8.6, Proxies).
template <class View>
__device__ __forceinline__ void open_maps_of_owners(const View& view, int m) {
  const auto* maps = static_cast<const CUtensorMap*>(view.out_maps);
#pragma unroll 1  // saves registers
  for (int first = 0; first < m; first += view.share_rows) ptx::acquire_tensor_map(maps++);
  ptx::fence_global_to_async();
}
template <class View>
__device__ __forceinline__ bool open_out_maps(const View& view, int m, int storers) {
  bool may_store = true;
  if constexpr (View::kWholeRun && View::kStores)
    if (is_whole_run(view)) may_store = await_owners(view.exchange, storers).may_store;
  if constexpr (View::kStores) open_maps_of_owners(view, m);
  return may_store;
}

// As open_out_maps above, in a kernel that keeps in `stores` what the thread learns of the run.
template <class View>
__device__ __forceinline__ void open_out_maps(const View& view, int m, int storers,
                                              TileStores& stores) {
  if constexpr (View::kOthers > 0) {
    if (is_whole_run(view)) stores = await_owners(view.exchange, storers);
    open_maps_of_owners(view, m);
  } else {
    stores.may_store = open_out_maps(view, m, storers);
  }
}

// Waits until view.pace cycles have passed since the thread's last store, in clock arithmetic
// modulo 2^32. The first stores of the CTA's threads are a fraction of view.pace apart, so that
// their stores alternate. A tile of this rank's own crosses no link and is not paced, unless its
// sum goes to all ranks.
template <class View>
__device__ __forceinline__ void pace(const View& view, Pacer& pacer, const Tile& tile,
                                     bool last_tile) {
  if constexpr (View::kStores) {
    constexpr unsigned kPollNanoseconds = 20;
    const bool spreads = View::kSpreads && View::kSources > 0;
    const bool leaves = spreads || owner_of(view, tile) != view.rank;
    if (last_tile || !leaves) return;
    const auto step = static_cast<unsigned>(view.pace);
    if (pacer.last == 0)
      pacer.last = ptx::clock_cycles() - step + step / pacer.threads * pacer.thread;
    while (ptx::clock_cycles() - pacer.last < step) ptx::sleep_ns(kPollNanoseconds);
    pacer.last = ptx::clock_cycles();
  }
}

// Whether warps of the CTA do the last tasks when they have nothing left to multiply. Each such
// warp has a barrier, numbered from 1. The helper warp arrives there when it has noted in shared
// memory which run this is.
template <class View>
__device__ __forceinline__ bool has_finishers(const View& view) {
  return is_whole_run(view) && view.tasks.last < view.tasks.count;
}

// All lanes of a warp of each CTA; `output` and `finishers` are constants.
template <class View>
__device__ __forceinline__ void helper_warp(const View& view, HelperMemory helper, DType output,
                                            int storers, int finishers = 0,
                                            const float* scales = nullptr) {
  const auto do_all = [&](const auto& expected) {
    const int number = View::kWholeRun && finishers > 0 ? view.tasks.last : view.tasks.count;
    return with_output(output, [&](auto type) {
      return do_tasks<type.value, View::kTaskParts, View::kPushes>(view.tasks, number, expected,
                                                                   helper);
    });
  };
  if constexpr (View::kWholeRun && View::kWaits) {
    push_rows<View::kGroups>(view, helper, scales);
  } else if constexpr (View::kWholeRun) {
    ptx::wait_for_previous_kernels();
    if (!is_whole_run(view)) return;  // in sequence there are no tasks
    begin_whole_run(view.exchange, helper.address);
    open_tasks(helper);
    count_helper(view.exchange, helper.address, storers);
    if (finishers > 0 && has_finishers(view)) {
#pragma unroll 1
      for (int warp = 0; warp < finishers; ++warp) ptx::arrive_threads(1 + warp, 64);
    }
    const bool through = do_all(CountsOfRun{view.exchange, helper.address});
    end_whole_run(view.exchange, view.tasks, helper.address, through);
  } else if constexpr (View::kTaskParts > 0) {
    open_tasks(helper);
    do_all(ExpectedCounts{view.tasks.expected});
  }
}

// All lanes of each of `finishers` warps; `output` is a constant.
template <class View>
__device__ __forceinline__ void finish_tasks(const View& view, HelperMemory helper, DType output,
                                             int warp, int finishers) {
  if constexpr (View::kWholeRun && View::kTaskParts > 0) {
    if (!has_finishers(view)) return;
    ptx::sync_threads(1 + warp, 64);
    const CountsOfRun expected{view.exchange, helper.address};
    with_output(output, [&](auto type) {
      finish_tasks<type.value, View::kTaskParts, View::kPushes>(view.tasks, expected, helper.bytes,
                                                                warp, finishers);
    });
  }
}

// Raises the counter of the tile's group by one, releasing what the calling thread has stored or
// observed (ptx.cuh).
__device__ __forceinline__ void post(uint32_t* counters, const Tile& tile) {
  ptx::red_release_sys(counter_at(counters, tile.group), 1);
}

// Raises a tile's counter. The caller has completed the tile's stores, unless nothing overlaps. In
// that case the kernel's end orders everything, and the counter only says how far the kernel got:
// it is raised at once, while stores may still be under way. Waiting for the stores and releasing
// them would take 4% of the time of a GEMM of 256 rows.
template <class View>
__device__ __forceinline__ void raise(const View& view, const Tile& tile) {
  if constexpr (View::kOverlaps)
    post(view.counters, tile);
  else
    ptx::red_relaxed_sys(counter_at(view.counters, tile.group), 1);
}

// With kStamps, notes that a tile has been computed (timeline_words.h). Its stores may be under
// way.
template <class View>
__device__ __forceinline__ void note_tile(const View& view, const Tile& tile) {
  if constexpr (View::kStamps) {
    if (tile.is_padding()) return;
    auto* line = reinterpret_cast<uint64_t*>(counter_at(view.counters, tile.group));
    ptx::red_max_relaxed(line + kTilesEnd, ptx::global_time_ns());
  }
}

// For ordinary stores by the threads of the block; all of them call. The barrier orders every
// thread's earlier stores before what follows it in thread 0 (PTX ISA, barrier: it orders memory
// accesses among the participating threads), and the release is cumulative (8.9.5, Causality
// Order). Without the barrier, thread 0 would release its own stores only. Where A arrives
// (kWaits), counters say which rows have arrived, and nothing waits for tiles. So this function and
// the ones below raise no counter then.
template <class View>
__device__ __forceinline__ void tile_done(const View& view, const Tile& tile, BlockStores) {
  static_assert(!View::kStores, "a kernel stores into other ranks' memory with TMA");
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) note_tile(view, tile);
  if constexpr (View::kWaits || !View::kRaises) return;
  if constexpr (View::kOverlaps) __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) raise(view, tile);
}

// Stores of a block whose threads end one by one. `left`, in shared memory, is the number of
// threads that have not ended.
struct ThreadStores {
  unsigned* left;
};

// All threads of the block call, before any of them ends.
__device__ __forceinline__ void count_threads(unsigned* left) {
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0)
    *left = blockDim.x * blockDim.y * blockDim.z;
  __syncthreads();
}

// Each thread calls after its stores, and may end then. A barrier of the block counts only threads
// that have not ended (PTX ISA, bar: "all non-exited threads"), so no thread may wait here.
// Counting down is an acq_rel operation of .cta scope: a thread's stores come before its own count.
// The last thread acquires the stores of all others and releases them (PTX ISA 8.9.5, Causality
// Order; 8.8, release patterns continue through read-modify-writes).
template <class View>
__device__ __forceinline__ void tile_done(const View& view, const Tile& tile, ThreadStores stores) {
  static_assert(!View::kStores, "a kernel stores into other ranks' memory with TMA");
  note_tile(view, tile);
  if constexpr (View::kWaits || !View::kRaises) return;
  if (ptx::decrement_shared(stores.left) == 1) raise(view, tile);
}

// For ordinary stores by the lanes of a one-dimensional block's warp; all of them call.
// bar.warp.sync orders memory accesses among its participants as the block's barrier does (PTX ISA,
// bar.warp.sync).
template <class View>
__device__ __forceinline__ void tile_done(const View& view, const Tile& tile, WarpStores) {
  static_assert(!View::kStores, "a kernel stores into other ranks' memory with TMA");
  if (threadIdx.x % 32 == 0) note_tile(view, tile);
  if constexpr (View::kWaits || !View::kRaises) return;
  if constexpr (View::kOverlaps) __syncwarp();
  if (threadIdx.x % 32 == 0) raise(view, tile);
}

// For bulk-group stores issued and committed by the calling thread, which alone calls. These stores
// are not part of the thread's program order (PTX ISA, Async proxy and asynchronous operations), so
// a release says nothing of them before cp.async.bulk.wait_group 0 has returned. By then the writes
// are made, visible to this thread, and passed from the async to the generic proxy. The .read form
// would not do: it returns when shared memory may be reused, before the writes are made.
//
// kStores: the tile is then in its owner's memory, and the counter that is raised is the owner's.
// The scope is .sys already, which spans GPUs (PTX ISA 8.5, Scope), and cumulativity does not
// depend on whose memory anything is in (8.9.5). A padding tile has no owner and raises no counter.
//
// kOthers: nothing waits for tiles by counters. With kSources the tile's own flag is raised at the
// owner; tiles of this rank's own raise none.
//
// kShots: nothing waits for tiles. A run in sequence raises the counter only to say how far the
// kernel got (raise).
template <class View>
__device__ __forceinline__ void tile_done(const View& view, const Tile& tile, BulkStores stores) {
  note_tile(view, tile);
  if constexpr (View::kOthers > 0) {
    if (is_whole_run(view)) {
      const bool leaves = !tile.is_padding() && owner_of(view, tile) != view.rank;
      if (View::kSources > 0 && leaves) raise_flag(view, tile, stores);
      return;
    }
  }
  if constexpr (View::kShots != 0) {
    if (!exchanges(view)) ptx::red_relaxed_sys(counter_at(view.counters, tile.group), 1);
    return;
  }
  if constexpr (View::kWaits || !View::kRaises) return;
  if constexpr (View::kOverlaps) ptx::wait_bulk<0>();
  if constexpr (!View::kStores)
    raise(view, tile);
  else if (!tile.is_padding())
    post(view.peer_counters[owner_of(view, tile)], tile);
}

}  // namespace tilepost::woven

#endif  // TILEPOST_DEVICE_WOVEN_CUH
