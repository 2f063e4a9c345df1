// Which ranks get which rows of a product where kernels exchange tiles (TILEPOST_ACCESS_TILES), and
// which parts, slices and lines these are in. Who stores and who waits have to find the same.
#ifndef TILEPOST_EXCHANGE_SHARES_H
#define TILEPOST_EXCHANGE_SHARES_H

#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost {

// Rows or lines [first, end); none, if end <= first.
struct ExchangeRange {
  int first, end;

  TILEPOST_INLINE constexpr int count() const { return end > first ? end - first : 0; }
  TILEPOST_INLINE constexpr ExchangeRange within(const ExchangeRange& other) const {
    return {first > other.first ? first : other.first, end < other.end ? end : other.end};
  }
};

// Consecutive ranks.
struct ExchangeRanks {
  int first, count;

  // The place'th of them as rank `own` stores: the rank behind it comes first, so that not all
  // ranks begin with the same.
  TILEPOST_INLINE constexpr int at(int place, int own) const {
    const int behind = own + 1 - first;
    const int rank = (behind > 0 && behind < count ? behind : 0) + place;
    return first + (rank < count ? rank : rank - count);
  }
};

// Every one of kRanks ranks gets all rows, or (kScatters) its share of them.
template <int kRanks, bool kScatters>
struct ExchangeShares {
  int rows;   // of the product
  int share;  // of an equal share

  TILEPOST_INLINE constexpr ExchangeRange rows_of(int rank) const {
    if (!kScatters) return {0, rows};
    const int first = rank * share, end = first + share;
    return {first, end < rows ? end : rows};
  }

  // Those that get any of the rows; rows behind the last one are nobody's. A few comparisons are
  // faster than a division.
  TILEPOST_INLINE constexpr ExchangeRanks ranks_of(const ExchangeRange& some) const {
    if (!kScatters) return {0, kRanks};
    const int last = (some.end < rows ? some.end : rows) - 1;
    if (some.first > last) return {0, 0};
    int of_first = 0, of_last = 0;
#ifdef __CUDACC__
#pragma unroll
#endif
    for (int rank = 1; rank < kRanks; ++rank) {
      of_first += some.first >= rank * share ? 1 : 0;
      of_last += last >= rank * share ? 1 : 0;
    }
    return {of_first, of_last + 1 - of_first};
  }
};

// One of `slices` equal parts of some rows.
TILEPOST_INLINE constexpr ExchangeRange exchange_slice(const ExchangeRange& rows, int slice,
                                                       int slices) {
  const int count = rows.count();
  return {rows.first + slice * count / slices, rows.first + (slice + 1) * count / slices};
}

// The part that a row of the product is in, counted down a column of tiles of `tile_m` rows, each
// in `per_tile` parts (TileParts).
TILEPOST_INLINE constexpr int exchange_part(int row, int tile_m, int per_tile) {
  constexpr int kUnit = 8;
  const int unit = row % tile_m / kUnit;
  return row / tile_m * per_tile + ((unit + 1) * per_tile - 1) / (tile_m / kUnit);
}

// Lines of a part that have any element of these of its rows, of `columns` elements each.
TILEPOST_INLINE constexpr ExchangeRange exchange_lines(const ExchangeRange& rows, int columns) {
  return {rows.first * columns / TILEPOST_LINE_ELEMENTS,
          (rows.end * columns + TILEPOST_LINE_ELEMENTS - 1) / TILEPOST_LINE_ELEMENTS};
}

// Rows of a part that a line has any element of, counted from the part's first.
TILEPOST_INLINE constexpr ExchangeRange rows_of_line(int line, int columns) {
  return {line * TILEPOST_LINE_ELEMENTS / columns,
          ((line + 1) * TILEPOST_LINE_ELEMENTS - 1) / columns + 1};
}

// The most lines that `rows` consecutive rows of a part have any element of, wherever they begin.
TILEPOST_INLINE constexpr long long most_exchange_lines(long long rows, int columns) {
  return (rows * columns + TILEPOST_LINE_ELEMENTS - 1) / TILEPOST_LINE_ELEMENTS + 1;
}

}  // namespace tilepost

#endif  // TILEPOST_EXCHANGE_SHARES_H
