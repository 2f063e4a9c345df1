// How the kernels of all ranks exchange tiles where a product has few rows (TILEPOST_ACCESS_TILES).
// No kernel comes before or behind them: the ranks meet inside.
//
// A CTA's rows of a tile are a part. The store thread puts them into this rank's slot on each of
// the ranks that get them, then raises a flag there. On such a rank the helper warps of the CTA
// that has the same part wait for the flags of all ranks. They add up what has come, in the order
// of ranks, and store the sums. In one shot the sums go into out. In two shots they go to all
// ranks, where the helper warps of the same part wait for them once more. Where a rank gets its
// share of the rows (kScatters), all of its CTAs that have a part in a column of tiles divide the
// share's rows of that column evenly, and add these up or move them. Warps that have nothing left
// to multiply join the helper warps for the CTA's last part.
//
// There are two sets of slots and flags, and the parity of the run's number says which set a run
// uses. Nothing else keeps runs apart. In run e every rank waits until every rank has begun run e,
// and in a rank's stream run e comes behind run e - 1. So a rank that has ended run e knows that
// all ranks have ended run e - 1, whose buffers its own run e + 1 then writes. A flag holds the
// number of the run, and no value that could be mistaken for it can be there: run e + 2, which
// writes the same flag, begins on no rank before this one has ended run e.
// docs/internals/exchange-of-tiles.md has the proof.
//
// That holds between runs of one kind. A run of another kind may lay out the memory in another way.
// A run behind such a run first waits until all ranks have ended it.
#ifndef TILEPOST_DEVICE_EXCHANGE_CUH
#define TILEPOST_DEVICE_EXCHANGE_CUH

#include <cuda.h>

#include <cstdint>

#include "tilepost/device/exchange_lines.cuh"
#include "tilepost/device/exchange_norm.cuh"
#include "tilepost/device/exchange_parts.cuh"
#include "tilepost/device/ptx_sm90.cuh"

namespace tilepost::woven {

// ---- The thread that stores

// Called before the thread's first store. If a run was given up, nothing is known of the other
// ranks, and this rank stores nothing more in their memory. The maps are acquired once, because no
// thread changes them while the kernel runs. Earlier kernels read the memory that the maps describe
// through the generic proxy. Those kernels ended before flags were raised that this thread has
// acquired. The proxy fence orders their reads before TMA's stores (PTX ISA 8.6, Proxies).
template <class View>
__device__ __forceinline__ void open_exchange(const View& view, TileStores& stores) {
  const tilepost_exchange_t& exchange = view.exchange;
  if (!exchanges(view)) return;
  if constexpr (View::kShots == TILEPOST_ONE_SHOT_LINES) return;
  const RunRead read = read_run(exchange);
  stores.run = read.run;
  stores.may_store = !is_given_up(exchange);
  if (read.last_kind != exchange.kind)
    for (int rank = 0; stores.may_store && rank < exchange.ranks; ++rank)
      stores.may_store =
          await_run(exchange, exchange_line(exchange, exchange.ended, exchange.rank, rank),
                    stores.run - 1, exchange.ended_waits + 4 * rank);
  // The thread counts itself only behind the waits. The last reader changes the run's number, which
  // the last run of this rank, still ending on another stream, may yet have to read.
  count_reader(exchange, read.run, num_readers<View>());
  const auto* const maps = static_cast<const CUtensorMap*>(exchange.slot_maps);
#pragma unroll 1
  for (int rank = 0; rank < exchange.ranks; ++rank)
    ptx::acquire_tensor_map(maps + (stores.run & 1) * exchange.ranks + rank);
  ptx::fence_global_to_async();
}

// How many ranks get a box of `rows` rows that begins with row `row` of the tile. All boxes of an
// output have the same number of rows.
template <class View>
__device__ __forceinline__ int num_places(const View& view, const TileStores& stores,
                                          const Tile& tile, int row, int rows) {
  if (!exchanges(view)) return 1;
  if (View::kShots == TILEPOST_ONE_SHOT_LINES || !stores.may_store) return 0;
  return ranks_of_box(view, tile.m + row, rows);
}

// Where a box goes on rank number `place` of those that get it. The box begins with row `row` and
// column `col` of the tile.
template <class View, class Map>
__device__ __forceinline__ OutPlace<Map> place_in_slots(const View& view, const TileStores& stores,
                                                        const Tile& tile, int row, int rows,
                                                        int col, int place) {
  const Map* const maps =
      static_cast<const Map*>(view.exchange.slot_maps) + (stores.run & 1) * View::kRanks;
  const int first = tile.m + row;
  const int rank = rank_of_box(view, first, rows, place);
  return {maps + rank, tile.n + col, slot_row(view, first, rank, rows)};
}

// Called when all stores of a part, rows [first, end) of the tile, are committed. Waits until the
// stores are made: then they are visible to this thread in the generic proxy (tile_done,
// BulkStores). The fence together with each relaxed store behind it is a release (PTX ISA 8.8,
// Release and Acquire Patterns), so one fence serves all ranks. A rank that gets none of the rows
// waits for no flag of the part (exchange_parts).
template <class View>
__device__ __forceinline__ void part_stored(const View& view, const TileStores& stores,
                                            const Tile& tile, int first, int end, int part) {
  const tilepost_exchange_t& exchange = view.exchange;
  if (!exchanges(view) || !stores.may_store) return;
  if constexpr (View::kShots == TILEPOST_ONE_SHOT_LINES) return;
  const ExchangeRanks ranks = shares_of(view).ranks_of({tile.m + first, tile.m + end});
  if (ranks.count == 0) return;
  ptx::wait_bulk<0>();
  ptx::fence_sys();
#pragma unroll
  for (int place = 0; place < ranks.count; ++place)
    *static_cast<volatile uint32_t*>(
        exchange_flags(exchange, ranks.at(place, exchange.rank), stores.run, 0, part) +
        exchange.rank) = stores.run;
}

// ---- Helper warps: flags come behind the data

// All helper threads. Waits until all ranks have raised their flags of `count` parts; number(i) is
// the number of the i-th part. Returns false, to all threads, if the wait was given up. The caller
// then adds up nothing of what has come, stores nothing in other ranks' memory and raises no flag
// there.
template <class View, class Number>
__device__ __forceinline__ bool await_parts(const View& view, const Helper& helper, int shot,
                                            int count, Number number) {
  const tilepost_exchange_t& exchange = view.exchange;
  bool missing = false;
#pragma unroll 1
  for (int i = helper.thread; !missing && i < count * View::kRanks; i += helper.threads)
    missing = !await(
        exchange,
        exchange_flags(exchange, exchange.rank, helper.run, shot, number(i / View::kRanks)) +
            i % View::kRanks,
        helper.run, exchange.arrived_wait, [&](uint32_t value) { return value == helper.run; });
  return !sync_helpers_any(helper, missing);
}
template <class View>
__device__ __forceinline__ bool await_part(const View& view, const Helper& helper, int shot,
                                           int part) {
  return await_parts(view, helper, shot, 1, [&](int) { return part; });
}

// As await_part, for the parts that have rows of a slice. These parts all lie in one column of
// tiles.
template <class View>
__device__ __forceinline__ bool await_slice(const View& view, const Helper& helper,
                                            const TileParts& parts, const Slice<View>& slice) {
  const int32_t* const positions = positions_of_column(view, slice.units.column);
  return await_parts(view, helper, 0, slice.parts, [&](int i) {
    return part_in_column(view, positions, slice.first_part + i, parts.per_tile);
  });
}

// All helper threads. Raises the part's flag on every rank. A thread that sees the flag also sees
// what the helper threads have stored before.
template <class View>
__device__ __forceinline__ void raise_part(const View& view, const Helper& helper, int shot,
                                           int part) {
  const tilepost_exchange_t& exchange = view.exchange;
  sync_helpers(helper);
  if (helper.thread >= View::kRanks) return;
  ptx::fence_sys();
  *static_cast<volatile uint32_t*>(exchange_flags(exchange, helper.thread, helper.run, shot, part) +
                                   exchange.rank) = helper.run;
}

// Where this rank stores its own sums: in the output, or, if rows are normalised, where the other
// ranks' sums land, so that all sums lie together.
template <class View>
__device__ __forceinline__ char* own_sums(const View& view) {
  const tilepost_exchange_t& exchange = view.exchange;
  return static_cast<char*>(View::kNorm != 0 ? exchange.there[exchange.rank] : exchange.out);
}

// All helper threads. Adds up what all ranks have stored of a part, and stores the sums. In an
// All-to-All moves what each rank has stored to out. A thread loads a few units before it waits for
// any of them. In place of a unit that this rank does not add up it loads unit 0, and ignores it.
template <class View, DType kType>
__device__ __forceinline__ void add_part(const View& view, const Helper& helper,
                                         const PartUnits<View::kTileN>& units, int n,
                                         int box_rows) {
  constexpr int kAtOnce = View::kRanks <= 2 ? 4 : 2;
  const tilepost_exchange_t& exchange = view.exchange;
  const char* const slots = exchange.memory[exchange.rank] + exchange.slots +
                            (helper.run & 1) * View::kRanks * exchange.slot_bytes;
  char* const out = own_sums(view);
  const auto is_own = [&](int unit) {
    return units.has(unit) && adds_row(view, units.row(unit), box_rows);
  };
#pragma unroll 1
  for (int first = helper.thread; first < units.count(); first += kAtOnce * helper.threads) {
    uint4 parts[kAtOnce][View::kRanks];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int unit = is_own(first + i * helper.threads) ? first + i * helper.threads : 0;
      const long long at =
          (static_cast<long long>(slot_row(view, units.row(unit), exchange.rank, box_rows)) * n +
           units.col(unit)) *
          2;
#pragma unroll
      for (int rank = 0; rank < View::kRanks; ++rank)
        parts[i][rank] = *reinterpret_cast<const uint4*>(slots + rank * exchange.slot_bytes + at);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int unit = first + i * helper.threads;
      if (!is_own(unit)) continue;
      const auto in_out = [&](int source) {
        return (row_of_out(view, units.row(unit), source) * n + units.col(unit)) * 2;
      };
      if constexpr (!View::kSums) {
#pragma unroll
        for (int rank = 0; rank < View::kRanks; ++rank)
          *reinterpret_cast<uint4*>(out + in_out(rank)) = parts[i][rank];
        continue;
      }
      const uint4 sum = add_vectors<kType>(parts[i]);
      *reinterpret_cast<uint4*>(out + in_out(0)) = sum;
      if constexpr (View::kShots == TILEPOST_TWO_SHOT) {
        constexpr ExchangeRanks kAll{0, View::kRanks};
#pragma unroll
        for (int place = 0; place < View::kRanks - 1; ++place)
          *reinterpret_cast<uint4*>(
              static_cast<char*>(exchange.there[kAll.at(place, exchange.rank)]) + in_out(0)) = sum;
      }
    }
  }
}

// All helper threads. Two shots: moves the sums of a part that other ranks have stored here to out,
// unless they were stored in out.
template <class View>
__device__ __forceinline__ void move_part(const View& view, const Helper& helper,
                                          const PartUnits<View::kTileN>& units, int n,
                                          int box_rows) {
  const tilepost_exchange_t& exchange = view.exchange;
  const void* const landed = exchange.there[exchange.rank];
  if (landed == exchange.out) return;
#pragma unroll 4
  for (int unit = helper.thread; unit < units.count(); unit += helper.threads) {
    if (!units.has(unit) || adds_row(view, units.row(unit), box_rows)) continue;
    const long long at = (static_cast<long long>(units.row(unit)) * n + units.col(unit)) * 2;
    *reinterpret_cast<uint4*>(static_cast<char*>(exchange.out) + at) =
        *reinterpret_cast<const uint4*>(static_cast<const char*>(landed) + at);
  }
}

// ---- All threads of the helper warps of a CTA, and those that join them

// Called by one helper thread. If helper warps do not read panels, the thread arrives at `empty` in
// their place when all panels of a position are full, so that the consumers wait for the store
// thread alone. When this returns, the CTA's last panels have been full.
__device__ __forceinline__ void keep_panels_empty(const TileParts& parts, const TilePanels& panels,
                                                  int thread) {
  if (panels.empty == 0 || thread != 0) return;
  uint32_t parity = 0;
  for (int position = parts.first; position < parts.tiles; position += parts.stride) {
    for (int column = 0; column < parts.part.columns; column += kPanelColumns)
      ptx::wait_barrier(panels.full + column / kPanelColumns * 8, parity);
    parity ^= 1;
    ptx::arrive(panels.empty);
  }
}

// Behind a run of another kind: waits until all ranks have ended that run.
__device__ __forceinline__ void follow_other_kind(const tilepost_exchange_t& exchange,
                                                  const RunRead& read, const Helper& helper) {
  if (read.last_kind == exchange.kind) return;
  if (helper.thread < exchange.ranks)
    await_run(exchange, exchange_line(exchange, exchange.ended, exchange.rank, helper.thread),
              read.run - 1, exchange.ended_waits + 4 * helper.thread);
  sync_helpers(helper);
}

// Whether threads that have nothing left to multiply join the helper warps. None join where lines
// are exchanged, which take_parts does not add up, or where rows are normalised, which are divided
// among the CTAs anew.
template <class View>
constexpr bool kHasJoiners = View::kNorm == 0 && (View::kShots == TILEPOST_ONE_SHOT ||
                                                  View::kShots == TILEPOST_TWO_SHOT);

// All helper threads. Adds up the parts that come at a position, and raises flags on the ranks that
// wait for the sums. This waits for store threads only, on any rank. Store threads wait for nothing
// that helper warps add up or move.
template <class View, DType kType>
__device__ __forceinline__ void add_at(const View& view, const Helper& helper,
                                       const TileParts& parts, const tilepost_shape_t& shape,
                                       int position) {
  const Tile tile = tile_at(view, position);
  if constexpr (View::kScatters) {
    const Slice<View> slice = slice_of(view, parts, tile, shape.n);
    if (slice.parts == 0 || !await_slice(view, helper, parts, slice)) return;
    add_part<View, kType>(view, helper, slice.units, shape.n, parts.box_rows);
  } else {
    const int part = part_at(parts, position);
    if (!await_part(view, helper, 0, part)) return;
    add_part<View, kType>(view, helper, units_of<View>(parts.part, tile, shape), shape.n,
                          parts.box_rows);
    if constexpr (View::kShots == TILEPOST_TWO_SHOT) raise_part(view, helper, 1, part);
  }
}

// All helper threads. Two shots: moves to out the other ranks' sums of a position.
template <class View>
__device__ __forceinline__ void move_at(const View& view, const Helper& helper,
                                        const TileParts& parts, const tilepost_shape_t& shape,
                                        int position) {
  if (!await_part(view, helper, 1, part_at(parts, position))) return;
  move_part(view, helper, units_of<View>(parts.part, tile_at(view, position), shape), shape.n,
            parts.box_rows);
}

// All helper threads. Adds up the CTA's parts, or slices, from position `begin` on. In two shots
// each part is moved only when the next one has been added up. There is time for that while the CTA
// multiplies, and the other ranks' sums of the part come meanwhile.
//
// No rank waits for ever. Consider the sums that a move at some position waits for. Their CTA makes
// them behind two things: what it adds up at positions up to that one, which waits for no move, and
// what it moves at earlier positions. The schedule is the same on all ranks, and every CTA takes
// its positions in increasing order. So of all moves that wait, the one at the earliest position
// waits for sums that nothing holds up.
//
// Behind the last part nothing is left to multiply, so the threads that join take it too: they
// begin with that part. Before they join they wait for their own products only, which wait for no
// helper warp.
template <class View, DType kType>
__device__ __forceinline__ void take_parts(const View& view, Helper helper, const TileParts& parts,
                                           const TilePanels& panels, const tilepost_shape_t& shape,
                                           int begin, int joining) {
  constexpr bool kMoves = View::kShots == TILEPOST_TWO_SHOT && View::kNorm == 0;
  int position = begin;
#pragma unroll 1
  for (; position < parts.tiles; position += parts.stride) {
    if (joining > 0 && position + parts.stride >= parts.tiles)
      helper = with_joiners(helper, panels, joining);
    add_at<View, kType>(view, helper, parts, shape, position);
    if (kMoves && position > parts.first)
      move_at(view, helper, parts, shape, position - parts.stride);
  }
  if (kMoves && position > parts.first)
    move_at(view, helper, parts, shape, position - parts.stride);
}

// All helper threads, in a run that exchanges tiles. `parts` says which positions the CTA computes,
// and which rows of each tile are the CTA's.
template <class View, DType kType>
__device__ __forceinline__ void exchange_parts(const View& view, const TileParts& parts,
                                               const TilePanels& panels,
                                               const tilepost_shape_t& shape, int thread,
                                               int threads, int joining) {
  const tilepost_exchange_t& exchange = view.exchange;
  const RunRead read = read_run(exchange);
  const Helper helper{thread, threads, read.run};
  sync_helpers(helper);
  if (thread == 0) count_reader(exchange, read.run, num_readers<View>());
  uint32_t replay = 0;
  if (blockIdx.x == 0) {
    if (thread < View::kRanks) {
      if constexpr (View::kShots == TILEPOST_ONE_SHOT_LINES)
        *static_cast<volatile uint32_t*>(line_to_renew(exchange, read.run, thread)) = read.run - 1;
      tell_begun(exchange, read.run, read.last_kind, thread);
      meet(exchange, read.run, thread);
    } else if (thread == threads - 1) {
      replay = begin_replay(exchange);
    }
  }
  if constexpr (View::kNorm != 0) prefetch_row(view, helper, static_cast<int>(blockIdx.x));
  if constexpr (View::kShots == TILEPOST_ONE_SHOT_LINES) {
    follow_other_kind(exchange, read, helper);
    const bool may_store = !is_given_up(exchange);
    uint32_t parity = 0;
#pragma unroll 1
    for (int position = parts.first; position < parts.tiles; position += parts.stride) {
      const int part = part_at(parts, position);
      const PartUnits<View::kTileN> units =
          units_of<View>(parts.part, tile_at(view, position), shape);
      for (int column = 0; column < parts.part.columns; column += kPanelColumns)
        ptx::wait_barrier(panels.full + column / kPanelColumns * 8, parity);
      parity ^= 1;
      if (may_store) store_lines(view, helper, panels, units, part);
      sync_helpers(helper);
      if (thread == 0) ptx::arrive(panels.empty);
      if constexpr (View::kNorm == 0) add_lines<View, kType>(view, helper, units, part, shape.n);
    }
  } else if constexpr (View::kNorm != 0 && View::kShots == TILEPOST_ONE_SHOT) {
    // No row is complete before this CTA's products are made, and polling for a row would take L2
    // bandwidth from the products.
    keep_panels_empty(parts, panels, thread - threads / 2);
    sync_helpers(helper);
  } else {
    take_parts<View, kType>(view, helper, parts, panels, shape, parts.first,
                            kHasJoiners<View> ? joining : 0);
  }
  if constexpr (View::kNorm != 0) normalise_rows<View, kType>(view, parts, panels, helper);
  end_replay(exchange, replay, helper);
}

// All helper threads. `joining`: how many threads join them for the last part (finish_exchange).
template <class View>
__device__ __forceinline__ void exchange_tiles(const View& view, const TileParts& parts,
                                               const TilePanels& panels,
                                               const tilepost_shape_t& shape, DType output,
                                               int thread, int threads, int joining = 0) {
  if constexpr (View::kShots != 0) {
    if (!exchanges(view)) {
      keep_panels_empty(parts, panels, thread);
      return;
    }
    with_output(output, [&](auto type) {
      exchange_parts<View, type.value>(view, parts, panels, shape, thread, threads, joining);
    });
  }
}

// All threads that join the helper warps for the CTA's last part. Both sides see in the kernel's
// arguments whether the run exchanges tiles and whether the CTA has a part. So they join in the
// same cases.
template <class View>
__device__ __forceinline__ void finish_exchange(const View& view, const TileParts& parts,
                                                const TilePanels& panels,
                                                const tilepost_shape_t& shape, DType output,
                                                int thread, int threads) {
  if constexpr (kHasJoiners<View>) {
    if (!exchanges(view) || parts.first >= parts.tiles) return;
    const Helper helper = join_helpers(panels, thread, threads);
    const int last = last_position(parts);
    with_output(output, [&](auto type) {
      take_parts<View, type.value>(view, helper, parts, panels, shape, last, 0);
    });
  }
}

}  // namespace tilepost::woven

#endif  // TILEPOST_DEVICE_EXCHANGE_CUH
