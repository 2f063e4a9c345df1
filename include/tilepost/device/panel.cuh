// Panels: pieces of the output on their way through shared memory. A panel is what a warpgroup has
// summed of 64 rows and up to 64 columns, or 128 where they are quantised to 8 bits. Where the
// matrix instruction made the tile transposed, it is what the warpgroup has summed of 64 columns
// and any multiple of 8 rows.
//
// A panel lies as TMA's 128-byte swizzle wants it. Row r begins at byte r * 128, however few
// columns a row has. Chunk c of a row, of 16 bytes, lies at place c ^ (r % 8).
#ifndef TILEPOST_DEVICE_PANEL_CUH
#define TILEPOST_DEVICE_PANEL_CUH

#include "tilepost/device/epilogue.cuh"
#include "tilepost/device/ptx_cluster.cuh"
#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/device/transposed_epilogue.cuh"
#include "tilepost/internal/quantised.h"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::panel {

constexpr int kMostColumns = 64;        // of elements of 16 bits
constexpr int kQuantisedColumns = 128;  // of elements of 8 bits: a block with a scale of its own
constexpr int kRowBytes = 128;
constexpr int kChunkN = 8;  // columns of a chunk

// How many words of a panel a thread of a warpgroup rounds. Of the 16 rows of its warp the thread
// has, for every 8 columns, one word of rows 0-7 and one of rows 8-15.
template <int kColumns>
constexpr int kWords = kColumns / kChunkN * 2;
template <int kColumns>
using Words = uint32_t[kWords<kColumns>];

// A place in the product: that of a panel, or of a thread's first sum in a panel.
struct Place {
  int row, col;
};

// The place of a thread's first sum in the panel whose place is `panel`. `thread` counts in the
// warpgroup.
__device__ __forceinline__ Place first_sum(Place panel, int thread) {
  return {panel.row + thread / 32 * 16 + thread % 32 / 4, panel.col + thread % 4 * 2};
}

// As first_sum(), where the panel is transposed.
__device__ __forceinline__ Place first_sum_transposed(Place panel, int thread) {
  return {panel.row + thread % 4 * 2, panel.col + thread / 32 * 16 + thread % 32 / 4};
}

// Applies the epilogue to a thread's sums of a panel, and calls body(word, values) for each pair of
// sums. What the epilogue reads is loaded a few words ahead, so that the loads overlap and still
// fit the registers.
template <int kColumns, int kEpilogue, DType kOutput, class Body>
__device__ __forceinline__ void for_finished(const float* sums, const tilepost_shape_t& shape,
                                             const tilepost_epilogue_t& epilogue, Place place,
                                             Body body) {
  constexpr int kAhead = kEpilogue == 0 ? 1 : 4;
#pragma unroll
  for (int first = 0; first < kWords<kColumns>; first += kAhead) {
    epilogue::PairInputs inputs[kAhead] = {};
    if constexpr (kEpilogue != 0) {
#pragma unroll
      for (int i = 0; i < kAhead && first + i < kWords<kColumns>; ++i) {
        const int row = place.row + (first + i) % 2 * 8, col = place.col + (first + i) / 2 * 8;
        if (row < shape.m && col < shape.n)
          inputs[i] = epilogue::load_pair<kEpilogue>(epilogue, row, col, shape.n);
      }
    }
#pragma unroll
    for (int i = 0; i < kAhead && first + i < kWords<kColumns>; ++i)
      body(first + i, epilogue::finish_pair<kEpilogue, kOutput>(
                          sums[2 * (first + i)], sums[2 * (first + i) + 1], inputs[i]));
  }
}

// Applies the epilogue to a thread's sums in place. They are not rounded.
template <int kColumns, int kEpilogue, DType kOutput>
__device__ __forceinline__ void finish(float* sums, const tilepost_shape_t& shape,
                                       const tilepost_epilogue_t& epilogue, Place place) {
  for_finished<kColumns, kEpilogue, kOutput>(sums, shape, epilogue, place,
                                             [&](int word, float2 values) {
                                               sums[2 * word] = values.x;
                                               sums[2 * word + 1] = values.y;
                                             });
}

// Quantises a thread's sums of a panel, which is one block of columns (tilepost_plan_t::quantised),
// into `words` of two elements of 8 bits, and stores the scale of each row. The sums of a row are
// with four lanes. All threads of the warpgroup call.
__device__ __forceinline__ void quantise(Words<kQuantisedColumns>& words, const float* sums,
                                         const tilepost_shape_t& shape,
                                         const tilepost_epilogue_t& epilogue, Place place) {
  static_assert(kQuantisedColumns == TILEPOST_SCALE_BLOCK);
#pragma unroll
  for (int half = 0; half < 2; ++half) {  // the thread's row, then the row 8 below it
    float most = 0;
#pragma unroll
    for (int word = half; word < kWords<kQuantisedColumns>; word += 2)
      most = fmaxf(most, fmaxf(fabsf(sums[2 * word]), fabsf(sums[2 * word + 1])));
    most = fmaxf(most, __shfl_xor_sync(0xFFFFFFFF, most, 1));
    most = fmaxf(most, __shfl_xor_sync(0xFFFFFFFF, most, 2));
    const float scale = scale_of_block(most), inverse = inverse_of_scale(scale);
    const int row = place.row + half * 8;
    if (threadIdx.x % 4 == 0 && row < shape.m && place.col < shape.n)
      epilogue.out_scales[row * epilogue.out_scale_row +
                          place.col / kQuantisedColumns * epilogue.out_scale_block] = scale;
#pragma unroll
    for (int word = half; word < kWords<kQuantisedColumns>; word += 2)
      words[word] = pack_e4m3(sums[2 * word] * inverse, sums[2 * word + 1] * inverse);
  }
}

// Applies the epilogue to a thread's sums and rounds them into `words`. Quantised sums are finished
// in place first, because a scale depends on all of them.
template <int kColumns, int kEpilogue, DType kOutput>
__device__ __forceinline__ void round(Words<kColumns>& words, float* sums,
                                      const tilepost_shape_t& shape,
                                      const tilepost_epilogue_t& epilogue, Place place) {
  if constexpr (kColumns == kQuantisedColumns) {
    if constexpr (kEpilogue != 0)
      finish<kColumns, kEpilogue, kOutput>(sums, shape, epilogue, place);
    quantise(words, sums, shape, epilogue, place);
  } else {
    for_finished<kColumns, kEpilogue, kOutput>(
        sums, shape, epilogue, place,
        [&](int word, float2 values) { words[word] = pack<kOutput>(values.x, values.y); });
  }
}

// Writes a thread's words of two elements of 8 bits into the panel at `target`.
__device__ __forceinline__ void write_quantised(uint32_t target,
                                                const Words<kQuantisedColumns>& words, int thread) {
  const int lane = thread % 32, row = thread / 32 * 16 + lane / 4;
#pragma unroll
  for (int word = 0; word < kWords<kQuantisedColumns>; ++word) {
    const int chunk = word / 4, within = word / 2 % 2 * 8 + lane % 4 * 2;  // 16 columns, 16 bytes
    ptx::store_shared_half(
        target + (row + word % 2 * 8) * kRowBytes + ((chunk ^ row % 8) << 4) + within,
        static_cast<uint16_t>(words[word]));
  }
}

// Writes a thread's words into the panel at `target`. All threads of the warpgroup call.
template <int kColumns>
__device__ __forceinline__ void write(uint32_t target, const Words<kColumns>& words, int thread) {
  if constexpr (kColumns == kQuantisedColumns) return write_quantised(target, words, thread);
  static_assert(kColumns % kChunkN == 0 &&
                (kColumns <= kMostColumns || kColumns == kQuantisedColumns));
  const int lane = thread % 32;
  const int row = thread / 32 * 16 + lane % 16;
#pragma unroll
  for (int i = 0; i + 4 <= kWords<kColumns>; i += 4) {
    const int chunk = i / 2 + lane / 16;
    ptx::store_matrices(target + row * kRowBytes + ((chunk ^ (row % 8)) << 4), words[i],
                        words[i + 1], words[i + 2], words[i + 3]);
  }
  if constexpr (constexpr int i = kWords<kColumns> / 4 * 4; i < kWords<kColumns>)
    ptx::store_matrices(target + row * kRowBytes + ((i / 2 ^ (row % 8)) << 4), words[i],
                        words[i + 1]);
}

// Applies the epilogue to a thread's sums of a transposed panel of kRows rows, rounds them and
// writes them into the panel at `target`. All threads of the warpgroup call. `place` is that of the
// thread's first sum.
template <int kRows, int kEpilogue, DType kOutput>
__device__ __forceinline__ void write_transposed(uint32_t target, const float* sums,
                                                 const tilepost_shape_t& shape,
                                                 const tilepost_epilogue_t& epilogue, Place place,
                                                 int thread) {
  constexpr int kUnit = 8, kUnits = kRows / kUnit;  // kUnit rows, of which a thread has four sums
  constexpr int kGroup = 4;  // units whose epilogue's inputs are loaded together
  static_assert(kRows % kUnit == 0);
  const int lane = thread % 32;
  const int chunk = thread / 32 * 2 + lane / 8 % 2;
  const uint32_t first =
      target + (lane / 16 * kUnit + lane % 8) * kRowBytes + ((chunk ^ lane % 8) << 4);
#pragma unroll
  for (int group = 0; group < kUnits; group += kGroup) {
    // Keeps ptxas from loading for all groups at once.
    if constexpr (kEpilogue != 0) __syncwarp();
    epilogue::UnitInputs<kEpilogue, kOutput, kGroup, kUnit> inputs;
    inputs.load(shape, epilogue, place.row + group * kUnit, place.col);
#pragma unroll
    for (int i = 0; i < kGroup && group + i < kUnits; i += 2) {
      const uint32_t row = first + (group + i) * kUnit * kRowBytes;
      const float* s = sums + (group + i) * 4;
      if (group + i + 1 < kUnits)
        ptx::store_matrices_transposed(row, inputs.finish(s, i, 0), inputs.finish(s, i, 1),
                                       inputs.finish(s + 4, i + 1, 0),
                                       inputs.finish(s + 4, i + 1, 1));
      else
        ptx::store_matrices_transposed(row, inputs.finish(s, i, 0), inputs.finish(s, i, 1));
    }
  }
}

// Stores the panel at `source` to `at` by TMA, as part of the thread's next bulk group. With kAdd
// TMA adds the panel to what is there.
template <bool kAdd>
__device__ __forceinline__ void store(const CUtensorMap* map, uint32_t source, Coord at) {
  if constexpr (kAdd)
    ptx::add_box(map, source, at.x, at.y);
  else
    ptx::store_box(map, source, at.x, at.y);
}

// Reads chunk `chunk` of a row of the panel at `source`.
__device__ __forceinline__ uint4 read(uint32_t source, int row, int chunk) {
  return ptx::load_shared_quad(source + row * kRowBytes + ((chunk ^ (row % 8)) << 4));
}

}  // namespace tilepost::panel

#endif  // TILEPOST_DEVICE_PANEL_CUH
