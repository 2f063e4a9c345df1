// Where kernels exchange tiles or rows of A (TILEPOST_ACCESS_TILES): where a part lies in the
// memory of the rank that gets it, and which rows of it belong to whom. The woven kernels of every
// target use this, with their own `view` (device/woven.cuh, host/woven.h).
#ifndef TILEPOST_EXCHANGE_PLACES_H
#define TILEPOST_EXCHANGE_PLACES_H

#include <stdint.h>

#include "tilepost/internal/exchange_shares.h"
#include "tilepost/internal/exchange_words.h"
#include "tilepost/internal/row_parts.h"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::woven {

// Whether this run exchanges tiles (exchanges), or rows of A (gathers). A plan may also have runs
// in sequence, which exchange neither.
template <class View>
TILEPOST_INLINE bool exchanges(const View& view) {
  return View::kShots != 0 && view.exchange.ranks != 0;
}
template <class View>
TILEPOST_INLINE bool gathers(const View& view) {
  return View::kGathers && view.exchange.ranks != 0;
}

// ---- Who gets a row of the product

template <class View>
TILEPOST_INLINE ExchangeShares<View::kRanks, View::kScatters> shares_of(const View& view) {
  return {view.exchange.rows, view.exchange.share_rows};
}

// The rows that this rank gets.
template <class View>
TILEPOST_INLINE ExchangeRange own_rows(const View& view) {
  return shares_of(view).rows_of(view.exchange.rank);
}

// Whether this rank adds up the row. In two shots only one rank does. A box has `box_rows` rows.
template <class View>
TILEPOST_INLINE bool adds_row(const View& view, int row, int box_rows) {
  return View::kShots == TILEPOST_ONE_SHOT || row / box_rows % View::kRanks == view.exchange.rank;
}

// The row of out for row `row` of the product, which this rank gets. If ranks are not summed, out
// has such a row from each `source`.
template <class View>
TILEPOST_INLINE long long row_of_out(const View& view, int row, int source) {
  if constexpr (!View::kScatters) return row;
  const ExchangeRange own = own_rows(view);
  return row - own.first +
         (View::kSums ? 0ll : source * static_cast<long long>(own.end - own.first));
}

// ---- Boxes in slots, with flags behind them

// How many ranks get a box of `rows` rows from `first` on, and which rank is number `place` of
// them. All boxes of an output have the same number of rows.
template <class View>
TILEPOST_INLINE int ranks_of_box(const View& view, int first, int rows) {
  if constexpr (View::kShots == TILEPOST_TWO_SHOT) return 1;
  return shares_of(view).ranks_of({first, first + rows}).count;
}
template <class View>
TILEPOST_INLINE int rank_of_box(const View& view, int first, int rows, int place) {
  return View::kShots == TILEPOST_TWO_SHOT
             ? first / rows % View::kRanks
             : shares_of(view).ranks_of({first, first + rows}).at(place, view.exchange.rank);
}

// The row in a slot of `rank` for row `row` of the product, which `rank` gets. A box has `box_rows`
// rows.
//
// One shot, where a rank gets its share: the slot's tensor map ends with the share's last row, and
// TMA writes nothing behind that. The map may not begin with the share's first row, because no
// coordinate of a store may be negative (CUDA Guide, Asynchronous Data Copies using TMA, Negative
// indices and out of bounds). So the slot has room for one more box in front of that row, and
// nobody reads what lies there.
//
// Two shots: the boxes of the output, counted down its rows, go to the ranks in turn. Each rank's
// boxes lie one behind the other in its slots.
template <class View>
TILEPOST_INLINE int slot_row(const View& view, int row, int rank, int box_rows) {
  if constexpr (View::kShots == TILEPOST_TWO_SHOT)
    return row / box_rows / View::kRanks * box_rows + row % box_rows;
  return View::kScatters ? row - shares_of(view).rows_of(rank).first + box_rows : row;
}

// Where a rank gets its share (kScatters), few of its CTAs have parts with rows of that share. So
// the rank's rows in a column of tiles are divided equally among all CTAs that have a part in that
// column. Returns the rows that fall to the CTA with part `number`, of `per_tile`, of the tile at
// row `tile_m`; there may be none. exchange_part says which part a row is in.
template <class View>
TILEPOST_INLINE ExchangeRange slice_rows(const View& view, int tile_m, int number, int per_tile) {
  const int slices = (view.exchange.rows + View::kTileM - 1) / View::kTileM * per_tile;
  const int slice = tile_m / View::kTileM * per_tile + number;
  return exchange_slice(own_rows(view), slice, slices);
}

// positions_of_column: the schedule positions of a column of tiles, view.tiles_n apart in memory.
// part_in_column: the number among all parts of part `part`, which is counted down the column.
template <class View>
TILEPOST_INLINE const int32_t* positions_of_column(const View& view, int column) {
  return view.positions + column / View::kTileN;
}
template <class View>
TILEPOST_INLINE int part_in_column(const View& view, const int32_t* positions, int part,
                                   int per_tile) {
  const int position = positions[part / per_tile * view.tiles_n];
  return position * per_tile + part % per_tile;
}

// ---- Lines

constexpr int kLineBytes = 16;

// Where line number `line` of a part lies on rank `where`, counted among the lines that `where`
// gets of the part from `source`.
TILEPOST_INLINE char* line_at(const tilepost_exchange_t& exchange, int where, int source,
                              uint32_t run, int part, int line) {
  const int64_t slot = static_cast<int64_t>(run & 1) * exchange.ranks + source;
  return exchange.memory[where] + exchange.slots + slot * exchange.slot_bytes +
         (static_cast<int64_t>(part) * exchange.lines + line) * kLineBytes;
}

// The word with the run's number, in the line of `source` that this rank renews in the run.
// flag_to_renew says why lines and flags are renewed.
TILEPOST_INLINE uint32_t* line_to_renew(const tilepost_exchange_t& exchange, uint32_t run,
                                        int source) {
  const auto lines = static_cast<uint32_t>(exchange.slot_bytes / kLineBytes);
  const int64_t slot = static_cast<int64_t>((run + 1) & 1) * exchange.ranks + source;
  char* const line = exchange.memory[exchange.rank] + exchange.slots + slot * exchange.slot_bytes +
                     static_cast<int64_t>((run >> 1) % lines) * kLineBytes;
  return reinterpret_cast<uint32_t*>(line) + 3;
}

// The lines that `rank` gets of a part with rows `rows`. They lie one behind the other in its
// slots.
template <class View>
TILEPOST_INLINE ExchangeRange lines_for(const View& view, const ExchangeRange& rows, int rank) {
  const ExchangeRange own = shares_of(view).rows_of(rank).within(rows);
  if (own.count() == 0) return {0, 0};
  return exchange_lines({own.first - rows.first, own.end - rows.first}, View::kTileN);
}

// The ranks that get any of a line's elements.
template <class View>
TILEPOST_INLINE ExchangeRanks ranks_of_line(const View& view, const ExchangeRange& rows, int line) {
  const ExchangeRange some = rows_of_line(line, View::kTileN);
  return shares_of(view).ranks_of(
      ExchangeRange{rows.first + some.first, rows.first + some.end}.within(rows));
}

// ---- Rows of A

// How the rows of A of the run are cut into parts.
template <class View>
TILEPOST_INLINE RowParts row_parts(const View& view, const tilepost_shape_t& shape) {
  return {View::kRanks, shape.m, view.exchange.row_units, view.exchange.part_units};
}

// The scales that travel with these parts, of rows of k elements.
TILEPOST_INLINE PartScales part_scales(const RowParts& parts, int k) {
  return {parts, TILEPOST_SCALE_BLOCK / (k / parts.row_units)};
}

// Where the rows of A of all ranks arrive on rank `where` in the run.
TILEPOST_INLINE char* rows_on(const tilepost_exchange_t& exchange, int where, uint32_t run) {
  return exchange.memory[where] + exchange.slots + (run & 1) * exchange.slot_bytes;
}

// Where the scales of the rows of all ranks arrive there. They lie as far behind the rows as they
// do on this rank, where view.in_scales is their place in runs of even number.
template <class View>
TILEPOST_INLINE float* scales_on(const View& view, int where, uint32_t run) {
  const tilepost_exchange_t& exchange = view.exchange;
  const int64_t behind = reinterpret_cast<const char*>(view.in_scales) -
                         static_cast<const char*>(rows_on(exchange, exchange.rank, 0));
  return reinterpret_cast<float*>(rows_on(exchange, where, run) + behind);
}

// Whether all rows of the tile are this rank's own: group 0. They are read where the caller has
// them. The tiles of all other groups are read where rows arrive.
TILEPOST_INLINE bool is_own(const Tile& tile) {
  return tile.group == 0 && !tile.is_padding();
}

}  // namespace tilepost::woven

#endif  // TILEPOST_EXCHANGE_PLACES_H
