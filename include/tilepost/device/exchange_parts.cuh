// What the helper warps of a CTA work with where kernels exchange tiles (exchange.cuh): who they
// are, which elements a part has, and whom they go to.
#ifndef TILEPOST_DEVICE_EXCHANGE_PARTS_CUH
#define TILEPOST_DEVICE_EXCHANGE_PARTS_CUH

#include <cstdint>

#include "tilepost/device/element.cuh"
#include "tilepost/device/meeting.cuh"
#include "tilepost/mark.cuh"

namespace tilepost::woven {

// ---- Who gets a row of the product

// Consecutive ranks.
struct SomeRanks {
  int first, count;
};

// Those that get any of the rows [first, end): all, or (kScatters) those in whose shares they lie,
// where rows behind the last one are nobody's. Few comparisons are faster than a division.
template <class View>
__device__ __forceinline__ SomeRanks ranks_of_rows(const View& view, int first, int end) {
  if constexpr (!View::kScatters) return {0, View::kRanks};
  const tilepost_exchange_t& exchange = view.exchange;
  const int last = (end < exchange.rows ? end : exchange.rows) - 1;
  if (first > last) return {0, 0};
  int of_first = 0, of_last = 0;
#pragma unroll
  for (int rank = 1; rank < View::kRanks; ++rank) {
    const int begin = rank * exchange.share_rows;
    of_first += first >= begin ? 1 : 0;
    of_last += last >= begin ? 1 : 0;
  }
  return {of_first, of_last + 1 - of_first};
}

// The place'th of them. The rank behind this one comes first, so that not all ranks begin with the
// same.
template <class View>
__device__ __forceinline__ int rank_of_place(const View& view, const SomeRanks& ranks, int place) {
  const int behind = view.exchange.rank + 1 - ranks.first;
  const int rank = (behind > 0 && behind < ranks.count ? behind : 0) + place;
  return ranks.first + (rank < ranks.count ? rank : rank - ranks.count);
}

// Rows [first, end) of the product; those that a rank gets.
struct RowRange {
  int first, end;
};
template <class View>
__device__ __forceinline__ RowRange rows_of(const View& view, int rank) {
  const tilepost_exchange_t& exchange = view.exchange;
  if constexpr (!View::kScatters) return {0, exchange.rows};
  const int first = rank * exchange.share_rows, end = first + exchange.share_rows;
  return {first, end < exchange.rows ? end : exchange.rows};
}

// ---- Helper warps

// What a thread of theirs knows: its number among `threads`, and the run.
struct Helper {
  int thread, threads;
  uint32_t run;
};

// The helper warps of a CTA alone: what one of their threads has acquired or stored comes before
// what the others do behind this (PTX ISA, barrier).
__device__ __forceinline__ void sync_helpers(const Helper& helper) {
  ptx::sync_threads(kHelperBarrier, helper.threads);
}

constexpr int kUnitElements = 8;  // of sixteen bytes

// Sixteen bytes of kRanks parts, added in the order of ranks.
template <DType kType, int kRanks>
__device__ __forceinline__ uint4 add_units(const uint4 (&parts)[kRanks]) {
  const auto sum = [&](uint32_t uint4::*word) {
    float2 pair = unpack<kType>(parts[0].*word);
#pragma unroll
    for (int rank = 1; rank < kRanks; ++rank) {
      const float2 other = unpack<kType>(parts[rank].*word);
      pair.x += other.x;
      pair.y += other.y;
    }
    return pack<kType>(pair.x, pair.y);
  };
  return {sum(&uint4::x), sum(&uint4::y), sum(&uint4::z), sum(&uint4::w)};
}

// The units of a part: rows [first, end) of the product, kColumns from `column` on, of which those
// below `columns` are in the output.
template <int kColumns>
struct PartUnits {
  static constexpr int kPerRow = kColumns / kUnitElements;

  int first, end, column, columns;
  __device__ int count() const { return (end - first) * kPerRow; }
  __device__ int row(int unit) const { return first + unit / kPerRow; }
  __device__ int col(int unit) const { return column + unit % kPerRow * kUnitElements; }
  __device__ bool has(int unit) const {
    return unit < count() && unit % kPerRow * kUnitElements < columns;
  }
};

// The part's rows and columns that are in the product.
template <class View>
__device__ __forceinline__ PartUnits<View::kTileN> units_of(const TilePart& part, const Tile& tile,
                                                            const tilepost_shape_t& shape) {
  const int first = tile.m + part.first_row, end = tile.m + part.end_row;
  return {first, end < shape.m ? end : shape.m, tile.n, shape.n - tile.n};
}

// Those that this rank gets; there may be none.
template <class View>
__device__ __forceinline__ PartUnits<View::kTileN> own_units(const View& view,
                                                             const PartUnits<View::kTileN>& units) {
  if constexpr (!View::kScatters) return units;
  const RowRange own = rows_of(view, view.exchange.rank);
  return {units.first > own.first ? units.first : own.first,
          units.end < own.end ? units.end : own.end, units.column, units.columns};
}

// Rows of a column of tiles, and the parts that they are in: `parts` of them from `first_part` on,
// counted down the column.
template <class View>
struct Slice {
  PartUnits<View::kTileN> units;
  int first_part, parts;
};

// Where a rank gets its share (kScatters) few of its CTAs have parts of that. So all that have a
// part in a column of tiles take as many of its rows that are this rank's, whoever has them: this
// CTA's. There may be none.
template <class View>
__device__ __forceinline__ Slice<View> slice_of(const View& view, const TileParts& parts,
                                                const Tile& tile, int columns) {
  constexpr int kUnitRows = 8, kUnits = View::kTileM / kUnitRows;
  const RowRange own = rows_of(view, view.exchange.rank);
  const int rows = own.end > own.first ? own.end - own.first : 0;
  const int slices = (view.exchange.rows + View::kTileM - 1) / View::kTileM * parts.per_tile;
  const int slice = tile.m / View::kTileM * parts.per_tile + parts.part.number;
  const int first = own.first + slice * rows / slices;
  const int end = own.first + (slice + 1) * rows / slices;
  const auto part_of = [&](int row) {
    const int unit = row % View::kTileM / kUnitRows;
    return row / View::kTileM * parts.per_tile + ((unit + 1) * parts.per_tile - 1) / kUnits;
  };
  if (first >= end) return {{0, 0, 0, 0}, 0, 0};
  const int part = part_of(first);
  return {{first, end, tile.n, columns - tile.n}, part, part_of(end - 1) + 1 - part};
}

// Where a row that this rank gets lies in out: sums, or what `source` has of it.
template <class View>
__device__ __forceinline__ long long row_of_out(const View& view, int row, int source) {
  if constexpr (!View::kScatters) return row;
  const RowRange own = rows_of(view, view.exchange.rank);
  return row - own.first +
         (View::kSums ? 0ll : source * static_cast<long long>(own.end - own.first));
}

}  // namespace tilepost::woven

#endif  // TILEPOST_DEVICE_EXCHANGE_PARTS_CUH
