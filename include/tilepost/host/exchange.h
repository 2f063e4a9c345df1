// How the host kernels of all ranks exchange tiles of few rows, or rows of A
// (TILEPOST_ACCESS_TILES). This is the counterpart of device/exchange.cuh, exchange_lines.cuh and
// exchange_rows.cuh, with the same places, flags, lines and numbers of runs (exchange_places.h).
//
// A worker stands for a CTA. It does one after the other what a CTA's warps do side by side. It
// stores its part of every tile before it waits for any tile of other ranks. So nothing that other
// ranks wait for comes behind a wait, except where tiles wait for rows of A. Rows of A are sent
// before everything else. The communicating thread (runtime/host/op_exchange.cpp) does what the
// first CTA does besides: it meets the other ranks. Behind a run of another kind, that thread lets
// no worker begin before the other run has ended.
#ifndef TILEPOST_HOST_EXCHANGE_H
#define TILEPOST_HOST_EXCHANGE_H

#include <cstdint>
#include <cstring>

#include "tilepost/host/box.h"
#include "tilepost/host/poll.h"
#include "tilepost/internal/exchange_places.h"
#include "tilepost/mark.cuh"
#include "tilepost/numeric.h"

namespace tilepost::woven {

// ---- Flags

// The number of the run. It does not change while any worker is in the run.
inline uint32_t run_of(const tilepost_exchange_t& exchange) {
  return exchange.run[kRunWord] + 1;
}

inline bool is_given_up(const tilepost_exchange_t& exchange) {
  return __atomic_load_n(exchange.abort, __ATOMIC_RELAXED) != 0;
}

// Raises a flag. This is a release operation: what is sequenced before it happens before what
// follows an acquire load that reads its value (C++20 [atomics.order] 2).
inline void raise(uint32_t* flag, uint32_t run) {
  __atomic_store_n(flag, run, __ATOMIC_RELEASE);
}

// Waits until a flag or a line that `source` writes has the number of the run. Returns false if the
// run was given up; a wait need not notice that quickly. A wait that takes long notes which rank it
// waits for.
inline bool await(const tilepost_exchange_t& exchange, const uint32_t* flag, int source) {
  const uint32_t run = run_of(exchange);
  for (Poll poll; __atomic_load_n(flag, __ATOMIC_ACQUIRE) != run; poll.pause()) {
    if (is_given_up(exchange)) return false;
    if (poll.takes_long())
      __atomic_store_n(exchange.arrived_wait, static_cast<uint32_t>(source) + 1, __ATOMIC_RELAXED);
  }
  return true;
}

template <class View>
inline bool await_part(const View& view, int shot, int part) {
  const tilepost_exchange_t& exchange = view.exchange;
  const uint32_t* const flags =
      exchange_flags(exchange, exchange.rank, run_of(exchange), shot, part);
  for (int rank = 0; rank < View::kRanks; ++rank)
    if (!await(exchange, flags + rank, rank)) return false;
  return true;
}

// ---- What a tile's worker stores

template <class View>
inline void open_exchange(const View& view, TileStores& stores) {
  if (!exchanges(view)) return;
  stores.run = run_of(view.exchange);
  stores.may_store = !is_given_up(view.exchange);
}

template <class View>
inline int num_places(const View& view, const TileStores& stores, const Tile& tile, int row,
                      int rows) {
  if (!exchanges(view)) return 1;
  if (View::kShots == TILEPOST_ONE_SHOT_LINES || !stores.may_store) return 0;
  return ranks_of_box(view, tile.m + row, rows);
}

// The place of the box that begins at row `row` and column `col` of the tile.
template <class View, class Map>
inline OutPlace<Map> out_place(const View& view, const TileStores& stores, const Map* map,
                               const TileGrid& /*grid*/, const Tile& tile, int row, int rows,
                               int col, int place) {
  if (!exchanges(view)) return {map, tile.n + col, tile.row + row};
  const int first = tile.m + row;
  const int rank = rank_of_box(view, first, rows, place);
  const Map* const maps =
      static_cast<const Map*>(view.exchange.slot_maps) + (stores.run & 1) * View::kRanks;
  return {maps + rank, tile.n + col, slot_row(view, first, rank, rows)};
}

// A line is three words of data and the number of the run. No access of sixteen bytes is a single
// access with every host compiler. So the number is stored last, with release, behind the data.
inline void store_line(char* line, const uint16_t* data, uint32_t run) {
  std::memcpy(line, data, TILEPOST_LINE_ELEMENTS * sizeof(uint16_t));
  raise(reinterpret_cast<uint32_t*>(line) + 3, run);
}

// Stores a part's lines in the memory of the ranks that get any row of them, this one too. `panel`
// has the part's elements, kTileN in a row. Only the part's rows that are in the product are
// stored.
template <class View, class T>
inline void store_lines(const View& view, uint32_t run, const ExchangeRange& rows, int part,
                        const T* panel) {
  const int elements = rows.count() * View::kTileN;
  for (int line = 0; line < exchange_lines({0, rows.count()}, View::kTileN).end; ++line) {
    uint16_t data[TILEPOST_LINE_ELEMENTS] = {};
    for (int i = 0; i < TILEPOST_LINE_ELEMENTS; ++i)
      if (const int element = line * TILEPOST_LINE_ELEMENTS + i; element < elements)
        std::memcpy(data + i, panel + element, sizeof data[i]);
    const ExchangeRanks ranks = ranks_of_line(view, rows, line);
    for (int place = 0; place < ranks.count; ++place) {
      const int rank = ranks.at(place, view.exchange.rank);
      const int first = lines_for(view, rows, rank).first;
      store_line(line_at(view.exchange, rank, view.exchange.rank, run, part, line - first), data,
                 run);
    }
  }
}

// The part's rows that are in the product.
template <class View>
inline ExchangeRange rows_of_part(const View& view, const Tile& tile, int first, int end) {
  return ExchangeRange{tile.m + first, tile.m + end}.within({0, view.exchange.rows});
}

template <class View, class T>
inline void part_stored(const View& view, const TileStores& stores, const Tile& tile, int first,
                        int end, int part, const T* panel) {
  if (!exchanges(view) || !stores.may_store) return;
  const tilepost_exchange_t& exchange = view.exchange;
  const ExchangeRange rows = rows_of_part(view, tile, first, end);
  if constexpr (View::kShots == TILEPOST_ONE_SHOT_LINES)
    return store_lines(view, stores.run, rows, part, panel);
  const ExchangeRanks ranks = shares_of(view).ranks_of(rows);
  for (int place = 0; place < ranks.count; ++place)
    raise(exchange_flags(exchange, ranks.at(place, exchange.rank), stores.run, 0, part) +
              exchange.rank,
          stores.run);
}

// ---- What has come

// Stores element (row, col) of this rank's rows in out, whose rows have n elements. `of(source)` is
// the element that rank `source` has. The result is the sum of all ranks' elements in fp32, in the
// order of ranks, or (All-to-All) each of them in a row of its own.
template <class View, class T, class Of>
inline void take(const View& view, int row, int col, int n, Of of) {
  T* const out = static_cast<T*>(view.exchange.out);
  if constexpr (View::kSums) {
    float sum = to_float(of(0));
    for (int rank = 1; rank < View::kRanks; ++rank) sum += to_float(of(rank));
    out[row_of_out(view, row, 0) * n + col] = from_float<T>(sum);
  } else {
    for (int rank = 0; rank < View::kRanks; ++rank)
      out[row_of_out(view, row, rank) * n + col] = of(rank);
  }
}

// Adds up, or moves, to out those of the rows that this rank adds (adds_row). Their parts lie in
// this rank's slots. In two shots the sums go to the other ranks, too.
template <class View, class T>
inline void take_boxes(const View& view, const ExchangeRange& rows, int column, int columns, int n,
                       int box_rows) {
  const tilepost_exchange_t& exchange = view.exchange;
  const char* const slots = exchange.memory[exchange.rank] + exchange.slots +
                            (run_of(exchange) & 1) * View::kRanks * exchange.slot_bytes;
  for (int row = rows.first; row < rows.end; ++row) {
    if (!adds_row(view, row, box_rows)) continue;
    const int64_t first = int64_t{slot_row(view, row, exchange.rank, box_rows)} * n;
    for (int col = column; col < column + columns; ++col)
      take<View, T>(view, row, col, n, [&](int source) {
        return reinterpret_cast<const T*>(slots + source * exchange.slot_bytes)[first + col];
      });
    const int64_t at = int64_t{row} * n + column;
    for (int rank = 0; View::kShots == TILEPOST_TWO_SHOT && rank < View::kRanks; ++rank)
      if (rank != exchange.rank)
        std::memcpy(static_cast<T*>(exchange.there[rank]) + at,
                    static_cast<const T*>(exchange.out) + at,
                    static_cast<size_t>(columns) * sizeof(T));
  }
}

// Moves the other ranks' sums of these rows to out, unless the sums lie there already.
template <class View, class T>
inline void move_landed(const View& view, const ExchangeRange& rows, int column, int columns, int n,
                        int box_rows) {
  const tilepost_exchange_t& exchange = view.exchange;
  const void* const landed = exchange.there[exchange.rank];
  if (landed == exchange.out) return;
  for (int row = rows.first; row < rows.end; ++row) {
    const int64_t at = int64_t{row} * n + column;
    if (!adds_row(view, row, box_rows))
      std::memcpy(static_cast<T*>(exchange.out) + at, static_cast<const T*>(landed) + at,
                  static_cast<size_t>(columns) * sizeof(T));
  }
}

// Waits for each line of a part, from every rank, and adds it up or moves it (take). Returns false
// if the run was given up.
template <class View, class T>
inline bool take_lines(const View& view, const ExchangeRange& rows, int part, int column,
                       int columns, int n) {
  const tilepost_exchange_t& exchange = view.exchange;
  const uint32_t run = run_of(exchange);
  const ExchangeRange own = own_rows(view).within(rows);
  const ExchangeRange lines = lines_for(view, rows, exchange.rank);
  for (int line = lines.first; line < lines.end; ++line) {
    const auto from = [&](int source) {
      return line_at(exchange, exchange.rank, source, run, part, line - lines.first);
    };
    for (int rank = 0; rank < View::kRanks; ++rank)
      if (!await(exchange, reinterpret_cast<const uint32_t*>(from(rank)) + 3, rank)) return false;
    for (int i = 0; i < TILEPOST_LINE_ELEMENTS; ++i) {
      const int element = line * TILEPOST_LINE_ELEMENTS + i;
      const int row = rows.first + element / View::kTileN, col = element % View::kTileN;
      if (row < own.first || row >= own.end || col >= columns) continue;
      take<View, T>(view, row, column + col, n,
                    [&](int source) { return reinterpret_cast<const T*>(from(source))[i]; });
    }
  }
  return true;
}

// Where a rank gets its share: waits for the parts that contain the rows of a slice.
template <class View>
inline bool await_slice(const View& view, const TileParts& parts, const ExchangeRange& rows,
                        int column) {
  const int first = exchange_part(rows.first, View::kTileM, parts.per_tile);
  const int last = exchange_part(rows.end - 1, View::kTileM, parts.per_tile);
  const int32_t* const positions = positions_of_column(view, column);
  for (int part = first; part <= last; ++part)
    if (!await_part(view, 0, part_in_column(view, positions, part, parts.per_tile))) return false;
  return true;
}

// Calls body(part, tile) for every part that the worker has, in their order, until it returns
// false.
template <class View, class Body>
inline void for_parts(const View& view, const TileParts& parts, Body body) {
  for (int position = parts.first; position < parts.tiles; position += parts.stride) {
    const tilepost_tile_t& entry = view.tiles[position];
    const Tile tile{entry.m, entry.n, entry.row, entry.group};
    if (!tile.is_padding() && !body(position * parts.per_tile + parts.part.number, tile)) return;
  }
}

template <class View, class T>
inline void take_parts(const View& view, const TileParts& parts, const tilepost_shape_t& shape) {
  const tilepost_exchange_t& exchange = view.exchange;
  const auto rows_of = [&](const Tile& tile) {
    return rows_of_part(view, tile, parts.part.first_row, parts.part.end_row);
  };
  const auto columns_of = [&](const Tile& tile) {
    return shape.n - tile.n < View::kTileN ? shape.n - tile.n : View::kTileN;
  };
  for_parts(view, parts, [&](int part, const Tile& tile) {
    const int columns = columns_of(tile);
    if constexpr (View::kShots == TILEPOST_ONE_SHOT_LINES) {
      return take_lines<View, T>(view, rows_of(tile), part, tile.n, columns, shape.n);
    } else if constexpr (View::kScatters) {
      const ExchangeRange rows = slice_rows(view, tile.m, parts.part.number, parts.per_tile);
      if (rows.count() == 0) return true;
      if (!await_slice(view, parts, rows, tile.n)) return false;
      take_boxes<View, T>(view, rows, tile.n, columns, shape.n, parts.box_rows);
    } else {
      if (!await_part(view, 0, part)) return false;
      take_boxes<View, T>(view, rows_of(tile), tile.n, columns, shape.n, parts.box_rows);
      for (int rank = 0; View::kShots == TILEPOST_TWO_SHOT && rank < View::kRanks; ++rank)
        raise(exchange_flags(exchange, rank, run_of(exchange), 1, part) + exchange.rank,
              run_of(exchange));
    }
    return true;
  });
  if constexpr (View::kShots == TILEPOST_TWO_SHOT)
    for_parts(view, parts, [&](int part, const Tile& tile) {
      if (!await_part(view, 1, part)) return false;
      move_landed<View, T>(view, rows_of(tile), tile.n, columns_of(tile), shape.n, parts.box_rows);
      return true;
    });
}

// ---- Rows of A

// Bytes of a row of A. A row has exchange.row_units units (RowParts).
template <class T>
inline int64_t bytes_of_row(const tilepost_shape_t& shape) {
  return int64_t{shape.k} * static_cast<int64_t>(sizeof(T));
}

// Waits for those parts of all ranks that contain any of rows [first, end). Returns false if the
// run was given up.
template <class View>
inline bool await_rows(const View& view, const RowParts& rows, int first, int end) {
  const tilepost_exchange_t& exchange = view.exchange;
  for (int source = 0; source < View::kRanks; ++source) {
    const SomeParts parts = rows.with_rows(source, first, end);
    for (int part = parts.first; part < parts.first + parts.count; ++part)
      if (!await(exchange,
                 exchange_flags(exchange, exchange.rank, run_of(exchange), 0, part) + source,
                 source))
        return false;
  }
  return true;
}

// Copies the scales that travel with a part to rank `rank`. `scales` has those of this rank's rows,
// each at its place among those of all rows.
template <class View>
inline void store_scales(const View& view, const RowParts& rows, const tilepost_shape_t& shape,
                         int part, int rank, const float* scales) {
  const tilepost_exchange_t& exchange = view.exchange;
  const PartScales all = part_scales(rows, shape.k);
  const SomeScales some = all.with_part(part, rows.units(exchange.rank));
  const int own = rows.first_row(exchange.rank) * all.of_row();
  float* const to = scales_on(view, rank, run_of(exchange));
  for (int i = own + some.first; i < own + some.end; ++i) to[i] = scales[i];
}

// Stores the worker's parts of this rank's rows on all ranks, this one too, with their scales if
// there are any. Then raises a flag for each part.
template <class View, class T>
inline void exchange_rows(const View& view, const TileParts& parts, const tilepost_shape_t& shape,
                          const T* /*rows*/, const float* scales = nullptr) {
  if constexpr (View::kGathers) {
    const tilepost_exchange_t& exchange = view.exchange;
    if (!gathers(view) || is_given_up(exchange)) return;
    const RowParts rows = row_parts(view, shape);
    const uint32_t run = run_of(exchange);
    const int64_t row_bytes = bytes_of_row<T>(shape), unit = row_bytes / exchange.row_units;
    const int units = rows.units(exchange.rank);
    const int64_t to = rows.first_row(exchange.rank) * row_bytes;
    for (int part = parts.first; part < rows.parts_of(units); part += parts.stride) {
      const int64_t first = part * rows.part_units * unit;
      const int64_t bytes = rows.end_of(part, units) * unit - first;
      for (int rank = 0; rank < View::kRanks; ++rank) {
        std::memcpy(rows_on(exchange, rank, run) + to + first,
                    static_cast<const char*>(exchange.own_rows) + first,
                    static_cast<size_t>(bytes));
        if (scales != nullptr) store_scales(view, rows, shape, part, rank, scales);
        raise(exchange_flags(exchange, rank, run, 0, part) + exchange.rank, run);
      }
    }
  }
}

// Copies rows of A of all ranks to where the caller wants them: every worker copies some of the
// rows. Own rows that lie there already stay as they are.
template <class View>
inline void hand_out_rows(const View& view, const TileParts& parts, const tilepost_shape_t& shape,
                          int64_t row_bytes) {
  const tilepost_exchange_t& exchange = view.exchange;
  char* const all = static_cast<char*>(exchange.gathered);
  if (all == nullptr) return;
  const RowParts rows = row_parts(view, shape);
  for (int row = parts.first; row < shape.m; row += parts.stride) {
    const int64_t at = row * row_bytes;
    const int own = row - rows.first_row(exchange.rank);
    const bool is_own = own >= 0 && row < rows.first_row(exchange.rank + 1);
    if (is_own && all + at == static_cast<const char*>(exchange.own_rows) + own * row_bytes)
      continue;
    if (!await_rows(view, rows, row, row + 1)) return;
    std::memcpy(all + at, rows_on(exchange, exchange.rank, run_of(exchange)) + at,
                static_cast<size_t>(row_bytes));
  }
}

// Waits for the rows of a tile, unless they are all this rank's own.
template <class View>
inline void await_tile(const View& view, const tilepost_exchange_t& exchange, const Tile& tile) {
  const RowParts rows{View::kRanks, exchange.rows, exchange.row_units, exchange.part_units};
  const int end = tile.m + View::kTileM;
  if (!is_own(tile)) await_rows(view, rows, tile.m, end < exchange.rows ? end : exchange.rows);
}

// Where the tile's rows of A are read: a pointer to which the number of a row among all is added.
template <class View, class T>
inline const T* in_map(const View& view, const T* rows, const Tile& tile) {
  if constexpr (View::kGathers)
    if (gathers(view) && !is_own(tile))
      return reinterpret_cast<const T*>(
          rows_on(view.exchange, view.exchange.rank, run_of(view.exchange)));
  return rows;
}

// The scales of the tile's rows of A, where in_map has the rows.
template <class View>
inline const float* in_scales(const View& view, const float* scales, const Tile& tile) {
  if constexpr (View::kGathers)
    if (gathers(view) && !is_own(tile))
      return scales_on(view, view.exchange.rank, run_of(view.exchange));
  return scales;
}

// ---- What a worker does when all of its tiles are stored

template <class View, class T>
inline void exchange_tiles(const View& view, const TileParts& parts, const tilepost_shape_t& shape,
                           DType output, const T* /*rows*/) {
  if constexpr (View::kGathers) {
    if (gathers(view)) hand_out_rows(view, parts, shape, bytes_of_row<T>(shape));
  } else if constexpr (View::kShots != 0) {
    if (!exchanges(view)) return;
    with_half(output, [&]<class Half>(Half) { take_parts<View, Half>(view, parts, shape); });
  }
}

}  // namespace tilepost::woven

#endif  // TILEPOST_HOST_EXCHANGE_H
