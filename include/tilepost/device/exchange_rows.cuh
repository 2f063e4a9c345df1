// How the kernels of all ranks exchange few rows of A (TILEPOST_ACCESS_TILES of patterns that move
// A): no kernel comes before or behind them, and the ranks meet inside.
//
// A rank's rows are cut into parts. The helper warps of the CTAs share them: they store each with
// all ranks, this one too, behind one another as A's rows are in all, then raise a flag on each
// rank. The helper warps of a CTA then wait, tile by tile, for the flags of all parts that have
// rows of it, and tell the thread that loads operands, in a word of shared memory. That has loaded
// weights meanwhile; it reads the rows with TMA where they have arrived. Tiles of this rank's own
// rows alone wait for nothing and are read where the caller has them.
//
// The memory in which rows arrive, and the flags, are double by the parity of the run's number;
// exchange.cuh says why that is enough. Here the last reader of the older run's is TMA: all it was
// asked for has come before that kernel ended.
#ifndef TILEPOST_DEVICE_EXCHANGE_ROWS_CUH
#define TILEPOST_DEVICE_EXCHANGE_ROWS_CUH

#include <cuda.h>

#include <cstdint>

#include "tilepost/device/exchange.cuh"
#include "tilepost/internal/exchange_places.h"

namespace tilepost::woven {

// Where the rows of all ranks arrive on rank `where`, in the run.
__device__ __forceinline__ uint4* units_on(const tilepost_exchange_t& exchange, int where,
                                           uint32_t run) {
  return reinterpret_cast<uint4*>(rows_on(exchange, where, run));
}

// ---- Helper warps: own rows

// Units of a part that a thread loads before it stores any: every `stride`th from `first` on. Of
// one behind the end the last one is loaded.
struct RowUnits {
  static constexpr int kCount = 4;
  uint4 at[kCount];

  __device__ __forceinline__ void load(const void* rows, int first, int stride, int end) {
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      at[i] = static_cast<const uint4*>(rows)[min(first + i * stride, end - 1)];
  }
  __device__ __forceinline__ void store(uint4* rows, int first, int stride, int end) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      if (first + i * stride < end) rows[first + i * stride] = at[i];
  }
};

// The CTA's parts of this rank's rows: first, first + stride, … below count. The first CTA meets
// the other ranks meanwhile, which takes as long, and has none, unless it is the only one.
struct OwnParts {
  int first, stride, count, units;

  __device__ OwnParts(const RowParts& rows, int rank)
      : stride(max(static_cast<int>(gridDim.x) - 1, 1)),
        count(rows.parts_of(rows.units(rank))),
        units(rows.units(rank)) {
    first = blockIdx.x > 0 ? static_cast<int>(blockIdx.x) - 1 : gridDim.x > 1 ? count : 0;
  }
};

// A helper thread, before it knows which run it is: begins to load the CTA's first part.
template <class View>
__device__ __forceinline__ void load_first_units(const View& view, const RowParts& rows,
                                                 const OwnParts& own, int thread, int threads,
                                                 RowUnits& units) {
  if (own.first < own.count)
    units.load(view.exchange.own_rows, own.first * rows.part_units + thread, threads,
               rows.end_of(own.first, own.units));
}

// All helper threads: stores the CTA's parts with all ranks, each with the flag behind it. `units`
// are those that load_first_units has loaded.
template <class View>
__device__ __forceinline__ void store_own_rows(const View& view, const Helper& helper,
                                               const RowParts& rows, const OwnParts& own,
                                               RowUnits& units) {
  const tilepost_exchange_t& exchange = view.exchange;
  const int64_t to = static_cast<int64_t>(rows.first_row(exchange.rank)) * rows.row_units;
  constexpr ExchangeRanks kAll{0, View::kRanks};
  bool loaded = true;
#pragma unroll 1
  for (int part = own.first; part < own.count; part += own.stride) {
    const int end = rows.end_of(part, own.units);
#pragma unroll 1
    for (int unit = part * rows.part_units + helper.thread; unit < end;
         unit += RowUnits::kCount * helper.threads) {
      if (!loaded) units.load(exchange.own_rows, unit, helper.threads, end);
      loaded = false;
#pragma unroll
      for (int place = 0; place < View::kRanks; ++place)
        units.store(units_on(exchange, kAll.at(place, exchange.rank), helper.run) + to, unit,
                    helper.threads, end);
    }
    loaded = false;
    raise_part(view, helper, 0, part);
  }
}

// ---- Helper warps: all rows

// All helper threads: waits for the flags of all parts that have any of rows [first, end). False,
// to all of them, if that was given up.
template <class View>
__device__ __forceinline__ bool await_rows(const View& view, const Helper& helper,
                                           const RowParts& rows, int first, int end) {
  const tilepost_exchange_t& exchange = view.exchange;
  bool missing = false;
  int item = helper.thread;  // counted over the parts of all ranks
#pragma unroll 1
  for (int source = 0; source < View::kRanks; ++source) {
    const SomeParts parts = rows.with_rows(source, first, end);
#pragma unroll 1
    for (; !missing && item < parts.count; item += helper.threads)
      missing = !await(
          exchange,
          exchange_flags(exchange, exchange.rank, helper.run, 0, parts.first + item) + source,
          helper.run, exchange.arrived_wait, [&](uint32_t value) { return value == helper.run; });
    item -= parts.count;
  }
  return !sync_helpers_any(helper, missing);
}

// What the word in shared memory says: for how many of the CTA's tiles, in their order, all rows
// have come; and in which of the two places. When the run is given up nothing is waited for.
constexpr uint32_t kAllTiles = 0x7FFFFFFF;
__device__ __forceinline__ uint32_t arrived_word(uint32_t tiles, uint32_t run) {
  return tiles << 1 | (run & 1);
}

// All helper threads: waits for the rows of one tile after the other, and tells the thread that
// loads them. The barrier in await_rows orders what all of them have acquired before that.
template <class View>
__device__ __forceinline__ bool await_tiles(const View& view, const Helper& helper,
                                            const RowParts& rows, const TileParts& parts,
                                            uint32_t arrived) {
  uint32_t tiles = 0;
  bool have_come = true;
#pragma unroll 1
  for (int position = parts.first; have_come && position < parts.tiles; position += parts.stride) {
    const Tile tile = tile_at(view, position);
    if (!is_own(tile))
      have_come = await_rows(view, helper, rows, tile.m, min(tile.m + View::kTileM, rows.rows));
    ++tiles;
    if (helper.thread == 0 && have_come)
      ptx::store_release_shared(arrived, arrived_word(tiles, helper.run));
  }
  if (helper.thread == 0 && !have_come)
    ptx::store_release_shared(arrived, arrived_word(kAllTiles, helper.run));
  return have_come;
}

// All helper threads: the CTA's part of all ranks' rows, to where the caller wants them. Own rows
// that lie there already stay as they are: they may be being read.
template <class View>
__device__ __forceinline__ void hand_out_rows(const View& view, const Helper& helper,
                                              const RowParts& rows) {
  const tilepost_exchange_t& exchange = view.exchange;
  uint4* const all = static_cast<uint4*>(exchange.gathered);
  if (all == nullptr) return;
  const uint4* const arrived = units_on(exchange, exchange.rank, helper.run);
  int turn = static_cast<int>(blockIdx.x);  // counted over the parts of all ranks
#pragma unroll 1
  for (int source = 0; source < View::kRanks; ++source) {
    const int64_t at = static_cast<int64_t>(rows.first_row(source)) * rows.row_units;
    const int units = rows.units(source), parts = rows.parts_of(units);
    const bool there = source == exchange.rank && all + at == exchange.own_rows;
#pragma unroll 1
    for (; turn < parts; turn += static_cast<int>(gridDim.x)) {
      if (there) continue;
      const bool missing =
          helper.thread == 0 &&
          !await(exchange, exchange_flags(exchange, exchange.rank, helper.run, 0, turn) + source,
                 helper.run, exchange.arrived_wait,
                 [&](uint32_t value) { return value == helper.run; });
      if (sync_helpers_any(helper, missing)) return;
      const int first = turn * rows.part_units, end = rows.end_of(turn, units);
#pragma unroll 4
      for (int unit = first + helper.thread; unit < end; unit += helper.threads)
        all[at + unit] = arrived[at + unit];
    }
    turn -= parts;
  }
}

// ---- All threads of the helper warps of a CTA

// Own rows go first: nothing that other ranks wait for comes behind a wait, but for the end of a
// run of another kind, of which this rank has told before.
template <class View>
__device__ __forceinline__ void exchange_rows(const View& view, const TileParts& parts,
                                              const tilepost_shape_t& shape, uint32_t arrived,
                                              int thread, int threads) {
  if constexpr (View::kGathers) {
    if (!gathers(view)) return;
    const tilepost_exchange_t& exchange = view.exchange;
    const RowParts rows = row_parts(view, shape);
    const OwnParts own(rows, exchange.rank);
    RowUnits units;
    load_first_units(view, rows, own, thread, threads, units);
    const RunRead read = read_run(exchange);
    const bool given_up = is_given_up(exchange);
    const Helper helper{thread, threads, read.run};
    const bool meets = blockIdx.x == 0 && thread < View::kRanks;
    if (meets) tell_begun(exchange, read.run, read.last_kind, thread);
    follow_other_kind(exchange, read, helper);
    // All of them must go by what one has seen: they meet at barriers while they store.
    const bool over = given_up || (read.last_kind != exchange.kind && is_given_up(exchange));
    if (!sync_helpers_any(helper, over)) store_own_rows(view, helper, rows, own, units);
    if (thread == 0) count_reader(exchange, read.run, num_readers<View>());
    uint32_t replay = 0;
    if (meets)
      meet(exchange, read.run, thread);
    else if (blockIdx.x == 0 && thread == threads - 1)
      replay = begin_replay(exchange);
    if (await_tiles(view, helper, rows, parts, arrived)) hand_out_rows(view, helper, rows);
    end_replay(exchange, replay, helper);
  }
}

// ---- The thread that loads operands

// Whether it would find the rows of its next tile.
template <class View>
__device__ __forceinline__ bool input_has_come(const View& view, const Tile& tile,
                                               const HelpedLoads& loads) {
  if constexpr (!View::kGathers) {
    return true;
  } else {
    return !gathers(view) || is_own(tile) ||
           ptx::load_acquire_shared(loads.arrived) >> 1 > static_cast<uint32_t>(loads.tiles);
  }
}

// The helper threads have acquired the flags of the tile's rows. The acquire here pairs with the
// release behind their barrier: causality order is transitive (PTX ISA 8.9.5). TMA reads through
// the async proxy, in which that orders nothing: the proxy fence stands between them (PTX ISA 8.6,
// Proxies). Before the first wait the thread makes both places' maps fit for use: no thread changes
// them while the kernel runs.
template <class View>
__device__ __forceinline__ void input_ready(const View& view, const Tile& tile,
                                            HelpedLoads& loads) {
  if constexpr (View::kGathers) {
    const auto position = static_cast<uint32_t>(loads.tiles++);
    if (!gathers(view) || is_own(tile)) return;
    if (!loads.opened) {
      const auto* const maps = static_cast<const CUtensorMap*>(view.in_map);
      ptx::acquire_tensor_map(maps);
      ptx::acquire_tensor_map(maps + 1);
      loads.opened = true;
    }
    uint32_t word = ptx::load_acquire_shared(loads.arrived);
    while (word >> 1 <= position) word = ptx::load_acquire_shared(loads.arrived);
    loads.parity = word & 1;
    ptx::fence_global_to_async();
  }
}

// The map of the memory in which all rows arrive, or of this rank's own where the caller has them.
template <class View, class Map>
__device__ __forceinline__ const Map* in_map(const View& view, const Map* map, const Tile& tile,
                                             const HelpedLoads& loads) {
  if constexpr (View::kGathers) {
    if (gathers(view) && !is_own(tile)) return static_cast<const Map*>(view.in_map) + loads.parity;
  }
  return map;
}

// One thread, before the CTA's first barrier: nothing has arrived.
template <class View>
__device__ __forceinline__ void open_input(const View& /*view*/, uint32_t arrived) {
  if constexpr (View::kGathers) ptx::store_release_shared(arrived, 0);
}

}  // namespace tilepost::woven

#endif  // TILEPOST_DEVICE_EXCHANGE_ROWS_CUH
