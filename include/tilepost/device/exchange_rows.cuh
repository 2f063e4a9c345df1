// How the kernels of all ranks exchange rows of A where these are few (TILEPOST_ACCESS_TILES of
// patterns that move A). No kernel comes before or behind them: the ranks meet inside.
//
// A rank's rows are cut into parts, which the helper warps of its CTAs share. They store each part
// in the memory of all ranks, this one included, at its place among all rows of A, then raise a
// flag on each rank. After that the helper warps of a CTA take its tiles in order. They wait for
// the flags of all parts that have rows of a tile, and then report the tile to the loader in a word
// of shared memory. The loader has loaded weights meanwhile. It reads the rows with TMA where they
// have arrived. Tiles that have only rows of this rank wait for nothing, and are read where the
// caller has them.
//
// Where blocks of A have scales, a part brings the scales of the blocks that begin in it. They
// arrive behind all rows, in the same place, and the part's flag stands for both. The loader's warp
// copies them to shared memory by ordinary copies.
//
// There are two places where rows arrive and two sets of flags, and the parity of the run's number
// says which a run uses. exchange.cuh says why that is enough. Here TMA is the last to read what an
// older run has left, and all of its loads have arrived before the older kernel ends. So have the
// copies of scales.
#ifndef TILEPOST_DEVICE_EXCHANGE_ROWS_CUH
#define TILEPOST_DEVICE_EXCHANGE_ROWS_CUH

#include <cuda.h>

#include <cstdint>

#include "tilepost/device/exchange.cuh"
#include "tilepost/internal/exchange_places.h"

namespace tilepost::woven {

// Where the rows of all ranks arrive on rank `where` in the run, in units of sixteen bytes.
__device__ __forceinline__ uint4* units_on(const tilepost_exchange_t& exchange, int where,
                                           uint32_t run) {
  return reinterpret_cast<uint4*>(rows_on(exchange, where, run));
}

// ---- Helper warps: own rows

// Units of a part that a thread loads before it stores any: kCount of them, `stride` apart, from
// `first` on. In place of a unit behind `end` it loads the last one, and does not store it.
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

// What travels with a part besides its rows: nothing. A caller passes RowsAlone or OwnScales.
struct RowsAlone {
  __device__ __forceinline__ void load(int /*part*/, int /*thread*/) {}
  __device__ __forceinline__ void store(const Helper& /*helper*/, int /*part*/) const {}
};

// The scales of A's blocks that travel with parts of this rank's rows. A thread loads its first
// scale of a part before it stores any rows of that part. Most parts have no more scales than there
// are helper threads.
template <class View>
class OwnScales {
 public:
  // `scales` has the scales of this rank's rows, each at its place among those of all rows.
  __device__ OwnScales(const View& view, const RowParts& rows, const tilepost_shape_t& shape,
                       const float* scales)
      : view_(view),
        scales_(part_scales(rows, shape.k)),
        units_(rows.units(view.exchange.rank)),
        first_(rows.first_row(view.exchange.rank) * scales_.of_row()),
        own_(scales + first_) {}

  // Begins to load the thread's first scale of a part.
  __device__ __forceinline__ void load(int part, int thread) {
    const SomeScales some = scales_.with_part(part, units_);
    if (some.first + thread < some.end) loaded_ = own_[some.first + thread];
  }

  // All helper threads. Stores the part's scales on all ranks, where load() was called for it.
  __device__ __forceinline__ void store(const Helper& helper, int part) const {
    constexpr ExchangeRanks kAll{0, View::kRanks};
    const SomeScales some = scales_.with_part(part, units_);
    const int first = some.first + helper.thread;
#pragma unroll 1
    for (int i = first; i < some.end; i += helper.threads) {
      const float scale = i == first ? loaded_ : own_[i];
#pragma unroll
      for (int place = 0; place < View::kRanks; ++place)
        scales_on(view_, kAll.at(place, view_.exchange.rank), helper.run)[first_ + i] = scale;
    }
  }

 private:
  const View& view_;
  const PartScales scales_;
  const int units_, first_;  // units of own rows; the place of the first own scale among all
  const float* const own_;
  float loaded_ = 0;
};

// The CTA's parts of this rank's rows: first, first + stride, … below count. The first CTA has
// none, unless it is the only one: it meets the other ranks meanwhile, which takes as long.
struct OwnParts {
  int first, stride, count, units;

  __device__ OwnParts(const RowParts& rows, int rank)
      : stride(max(static_cast<int>(gridDim.x) - 1, 1)),
        count(rows.parts_of(rows.units(rank))),
        units(rows.units(rank)) {
    first = blockIdx.x > 0 ? static_cast<int>(blockIdx.x) - 1 : gridDim.x > 1 ? count : 0;
  }
};

// All helper threads, before they know which run it is. Begins to load the CTA's first part.
template <class View, class Beside>
__device__ __forceinline__ void load_first_units(const View& view, const RowParts& rows,
                                                 const OwnParts& own, int thread, int threads,
                                                 RowUnits& units, Beside& beside) {
  if (own.first >= own.count) return;
  units.load(view.exchange.own_rows, own.first * rows.part_units + thread, threads,
             rows.end_of(own.first, own.units));
  beside.load(own.first, thread);
}

// All helper threads. Stores each of the CTA's parts in the memory of all ranks, with what travels
// `beside` its rows, then raises its flag there. `units` and `beside` hold what load_first_units
// has loaded.
template <class View, class Beside>
__device__ __forceinline__ void store_own_rows(const View& view, const Helper& helper,
                                               const RowParts& rows, const OwnParts& own,
                                               RowUnits& units, Beside& beside) {
  const tilepost_exchange_t& exchange = view.exchange;
  const int64_t to = static_cast<int64_t>(rows.first_row(exchange.rank)) * rows.row_units;
  constexpr ExchangeRanks kAll{0, View::kRanks};
  bool loaded = true;
#pragma unroll 1
  for (int part = own.first; part < own.count; part += own.stride) {
    const int end = rows.end_of(part, own.units);
    if (!loaded) beside.load(part, helper.thread);
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
    beside.store(helper, part);
    raise_part(view, helper, 0, part);
  }
}

// ---- Helper warps: all rows

// All helper threads. Waits for the flags of all parts that have any of rows [first, end). Returns
// false, to all threads, if the wait was given up.
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

// The word in shared memory by which helper threads report to the loader. It says for how many of
// the CTA's tiles, in their order, all rows have come, and in which of the two places the rows are.
// When the run is given up it says kAllTiles, so that nothing is waited for.
constexpr uint32_t kAllTiles = 0x7FFFFFFF;
__device__ __forceinline__ uint32_t arrived_word(uint32_t tiles, uint32_t run) {
  return tiles << 1 | (run & 1);
}

// All helper threads. Waits for the rows of one tile after the other, and reports each tile to the
// loader. The barrier in await_rows orders what all threads have acquired before the report.
// Returns false if the wait was given up.
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

// All helper threads. Copies the CTA's parts of all ranks' rows to where the caller wants them. If
// this rank's own rows lie there already, they are not written: they may be read at the same time.
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

// Own rows go first. So other ranks do not wait for a rank that waits itself. The only wait in
// front of the own rows is for the end of a run of another kind. This rank announces its own run
// before that wait.
template <class View, class Beside>
__device__ __forceinline__ void exchange_parts_of_rows(const View& view, const TileParts& parts,
                                                       const RowParts& rows, uint32_t arrived,
                                                       int thread, int threads, Beside& beside) {
  const tilepost_exchange_t& exchange = view.exchange;
  const OwnParts own(rows, exchange.rank);
  RowUnits units;
  load_first_units(view, rows, own, thread, threads, units, beside);
  const RunRead read = read_run(exchange);
  const bool given_up = is_given_up(exchange);
  const Helper helper{thread, threads, read.run};
  const bool meets = blockIdx.x == 0 && thread < View::kRanks;
  if (meets) tell_begun(exchange, read.run, read.last_kind, thread);
  follow_other_kind(exchange, read, helper);
  // All threads must act on what any of them has seen, because they meet at barriers while they
  // store.
  const bool over = given_up || (read.last_kind != exchange.kind && is_given_up(exchange));
  if (!sync_helpers_any(helper, over)) store_own_rows(view, helper, rows, own, units, beside);
  if (thread == 0) count_reader(exchange, read.run, num_readers<View>());
  uint32_t replay = 0;
  if (meets)
    meet(exchange, read.run, thread);
  else if (blockIdx.x == 0 && thread == threads - 1)
    replay = begin_replay(exchange);
  if (await_tiles(view, helper, rows, parts, arrived)) hand_out_rows(view, helper, rows);
  end_replay(exchange, replay, helper);
}

template <class View>
__device__ __forceinline__ void exchange_rows(const View& view, const TileParts& parts,
                                              const tilepost_shape_t& shape, uint32_t arrived,
                                              int thread, int threads) {
  if constexpr (View::kGathers) {
    if (!gathers(view)) return;
    RowsAlone beside;
    exchange_parts_of_rows(view, parts, row_parts(view, shape), arrived, thread, threads, beside);
  }
}

// As above, where the scales of A's blocks travel with the rows.
template <class View>
__device__ __forceinline__ void exchange_rows(const View& view, const TileParts& parts,
                                              const tilepost_shape_t& shape, uint32_t arrived,
                                              int thread, int threads, const float* scales) {
  if constexpr (View::kGathers) {
    if (!gathers(view)) return;
    const RowParts rows = row_parts(view, shape);
    OwnScales<View> beside(view, rows, shape, scales);
    exchange_parts_of_rows(view, parts, rows, arrived, thread, threads, beside);
  }
}

// ---- The thread that loads operands

// Whether the rows of the loader's next tile have come.
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

// Waits until the rows of the tile have come. The helper threads have acquired the flags of these
// rows. The acquire here pairs with the release behind their barrier: causality order is transitive
// (PTX ISA 8.9.5). TMA reads through the async proxy, in which the acquire orders nothing, so the
// proxy fence stands between them (PTX ISA 8.6, Proxies). Before its first wait the thread acquires
// the maps of both places, once, because no thread changes them while the kernel runs.
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

// The map for the tile's rows of A: of the memory in which all rows arrive, or of this rank's own
// rows where the caller has them.
template <class View, class Map>
__device__ __forceinline__ const Map* in_map(const View& view, const Map* map, const Tile& tile,
                                             const HelpedLoads& loads) {
  if constexpr (View::kGathers) {
    if (gathers(view) && !is_own(tile)) return static_cast<const Map*>(view.in_map) + loads.parity;
  }
  return map;
}

// The scales of the tile's rows of A, where in_map has the rows. Ordinary loads may follow: the
// calling thread has acquired the word of the tile in input_ready, and with it the scales.
template <class View>
__device__ __forceinline__ const float* in_scales(const View& view, const float* scales,
                                                  const Tile& tile, const HelpedLoads& loads) {
  if constexpr (View::kGathers) {
    if (gathers(view) && !is_own(tile)) return scales_on(view, view.exchange.rank, loads.parity);
  }
  return scales;
}

// One thread, before the CTA's first barrier. Sets the word to 0: no rows have arrived.
template <class View>
__device__ __forceinline__ void open_input(const View& /*view*/, uint32_t arrived) {
  if constexpr (View::kGathers) ptx::store_release_shared(arrived, 0);
}

}  // namespace tilepost::woven

#endif  // TILEPOST_DEVICE_EXCHANGE_ROWS_CUH
