// Where kernels exchange tiles (TILEPOST_ACCESS_TILES): which ranks get which rows of a product,
// and in which parts, slices and lines these rows are. The thread that stores and the thread that
// waits must compute the same.
#ifndef TILEPOST_EXCHANGE_SHARES_H
#define TILEPOST_EXCHANGE_SHARES_H

#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost {

// Rows or lines [first, end). There are none if end <= first.
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

  // Number `place` of these ranks in the order in which rank `own` stores. The rank behind `own`
  // comes first, so that not all ranks begin with the same one.
  TILEPOST_INLINE constexpr int at(int place, int own) const {
    const int behind = own + 1 - first;
    const int rank = (behind > 0 && behind < count ? behind : 0) + place;
    return first + (rank < count ? rank : rank - count);
  }
};

// Which rows ranks get: each of kRanks ranks gets all rows or, with kScatters, its share of them.
template <int kRanks, bool kScatters>
struct ExchangeShares {
  int rows;   // of the product
  int share;  // rows of an equal share

  TILEPOST_INLINE constexpr ExchangeRange rows_of(int rank) const {
    if (!kScatters) return {0, rows};
    const int first = rank * share, end = first + share;
    return {first, end < rows ? end : rows};
  }

  // The ranks that get any of the rows. Rows behind the product's last one belong to no rank. A few
  // comparisons are faster than a division.
  TILEPOST_INLINE constexpr ExchangeRanks ranks_of(const ExchangeRange& some) const {
    if (!kScatters) return {0, kRanks};
    const int last = (some.end < rows ? some.end : rows) - 1;
    if (some.first > last) return {0, 0};
    int of_first = 0, of_last = 0;
#ifdef __CUDA_ARCH__  // the compiler of the host may not know it
#pragma unroll
#endif
    for (int rank = 1; rank < kRanks; ++rank) {
      of_first += some.first >= rank * share ? 1 : 0;
      of_last += last >= rank * share ? 1 : 0;
    }
    return {of_first, of_last + 1 - of_first};
  }
};

// Slice number `slice` of `slices`, into which some rows are divided equally.
TILEPOST_INLINE constexpr ExchangeRange exchange_slice(const ExchangeRange& rows, int slice,
                                                       int slices) {
  const int count = rows.count();
  return {rows.first + slice * count / slices, rows.first + (slice + 1) * count / slices};
}

// The part that a row of the product is in. Parts are counted down a column of tiles. A tile has
// `tile_m` rows, in `per_tile` parts (TileParts).
TILEPOST_INLINE constexpr int exchange_part(int row, int tile_m, int per_tile) {
  constexpr int kUnit = 8;
  const int unit = row % tile_m / kUnit;
  return row / tile_m * per_tile + ((unit + 1) * per_tile - 1) / (tile_m / kUnit);
}

// The lines of a part that have any element of these rows of the part. A row has `columns`
// elements.
TILEPOST_INLINE constexpr ExchangeRange exchange_lines(const ExchangeRange& rows, int columns) {
  return {rows.first * columns / TILEPOST_LINE_ELEMENTS,
          (rows.end * columns + TILEPOST_LINE_ELEMENTS - 1) / TILEPOST_LINE_ELEMENTS};
}

// The rows of a part of which a line has any element, counted from the part's first row.
TILEPOST_INLINE constexpr ExchangeRange rows_of_line(int line, int columns) {
  return {line * TILEPOST_LINE_ELEMENTS / columns,
          ((line + 1) * TILEPOST_LINE_ELEMENTS - 1) / columns + 1};
}

// The most lines that can have an element of `rows` consecutive rows of a part, wherever they
// begin.
TILEPOST_INLINE constexpr long long most_exchange_lines(long long rows, int columns) {
  return (rows * columns + TILEPOST_LINE_ELEMENTS - 1) / TILEPOST_LINE_ELEMENTS + 1;
}

}  // namespace tilepost

#endif  // TILEPOST_EXCHANGE_SHARES_H
