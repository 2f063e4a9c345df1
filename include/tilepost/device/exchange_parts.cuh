// What the helper warps of a CTA work with where kernels exchange tiles (exchange.cuh): who they
// are, which elements a part has, and whom they go to.
#ifndef TILEPOST_DEVICE_EXCHANGE_PARTS_CUH
#define TILEPOST_DEVICE_EXCHANGE_PARTS_CUH

#include <cstdint>

#include "tilepost/device/element.cuh"
#include "tilepost/device/meeting.cuh"
#include "tilepost/mark.cuh"

namespace tilepost::woven {

// The rank behind this one comes first, so that not all ranks begin with the same; this one last.
template <class View>
__device__ __forceinline__ int rank_of_place(const View& view, int place) {
  const int rank = view.exchange.rank + 1 + place;
  return rank < View::kRanks ? rank : rank - View::kRanks;
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

// The units of a part: rows [first, end) of the output, kColumns from `column` on, of which those
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

// The part's rows and columns that are in the output.
template <class View>
__device__ __forceinline__ PartUnits<View::kTileN> units_of(const TilePart& part, const Tile& tile,
                                                            const tilepost_shape_t& shape) {
  const int first = tile.m + part.first_row, end = tile.m + part.end_row;
  return {first, end < shape.m ? end : shape.m, tile.n, shape.n - tile.n};
}

}  // namespace tilepost::woven

#endif  // TILEPOST_DEVICE_EXCHANGE_PARTS_CUH
