// Panels: 64 x 64 elements of the output on their way from a warpgroup's sums through shared
// memory.
//
// A panel lies as TMA's 128-byte swizzle wants it: row r of 128 bytes at r * 128, its chunk c of 16
// bytes at c ^ (r % 8).
#ifndef TILEPOST_DEVICE_PANEL_CUH
#define TILEPOST_DEVICE_PANEL_CUH

#include "tilepost/device/epilogue.cuh"
#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::panel {

constexpr int kRows = 64, kColumns = 64;
constexpr int kRowBytes = 128;
constexpr int kBytes = kRows * kRowBytes;
constexpr int kChunks = kRowBytes / 16;  // of a row, sixteen bytes each

// The words of a panel that a thread of a warpgroup rounds: for each 16 columns (rows 0-7, 8-15) x
// (columns 0-7, 8-15) of 16 rows.
constexpr int kWords = kColumns / 16 * 4;
using Words = uint32_t[kWords];

// Where a thread's first sum of a panel lies in the product.
struct Place {
  int row, col;
};

// That of a warpgroup's thread in the panel that lies at `panel`.
__device__ __forceinline__ Place first_sum(Place panel, int thread) {
  return {panel.row + thread / 32 * 16 + thread % 32 / 4, panel.col + thread % 4 * 2};
}

// Rounds a thread's sums of a panel, the epilogue applied. What the epilogue reads is loaded a few
// words ahead, so that the loads overlap and still fit the registers.
template <int kEpilogue, DType kOutput>
__device__ __forceinline__ void round(Words& words, const float* sums,
                                      const tilepost_shape_t& shape,
                                      const tilepost_epilogue_t& epilogue, Place place) {
  constexpr int kAhead = kEpilogue == 0 ? 1 : 4;
#pragma unroll
  for (int first = 0; first < kWords; first += kAhead) {
    epilogue::PairInputs inputs[kAhead] = {};
    if constexpr (kEpilogue != 0) {
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        const int row = place.row + (first + i) % 2 * 8, col = place.col + (first + i) / 2 * 8;
        if (row < shape.m && col < shape.n)
          inputs[i] = epilogue::load_pair<kEpilogue>(epilogue, row, col, shape.n);
      }
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i)
      words[first + i] = epilogue::finish_pair<kEpilogue, kOutput>(
          sums[2 * (first + i)], sums[2 * (first + i) + 1], inputs[i]);
  }
}

// Writes a thread's words into the panel at `target`; all threads of the warpgroup call.
__device__ __forceinline__ void write(uint32_t target, const Words& words, int thread) {
  const int lane = thread % 32;
  const int row = thread / 32 * 16 + lane % 16;
#pragma unroll
  for (int i = 0; i < kWords; i += 4) {
    const int chunk = i / 2 + lane / 16;
    ptx::store_matrices(target + row * kRowBytes + ((chunk ^ (row % 8)) << 4), words[i],
                        words[i + 1], words[i + 2], words[i + 3]);
  }
}

// Stores the panel at `source` to `at` by TMA, as part of the thread's next bulk group; kAdd: adds
// it to what is there.
template <bool kAdd>
__device__ __forceinline__ void store(const CUtensorMap* map, uint32_t source, Coord at) {
  if constexpr (kAdd)
    ptx::add_box(map, source, at.x, at.y);
  else
    ptx::store_box(map, source, at.x, at.y);
}

// Chunk `chunk` of a row of the panel at `source`.
__device__ __forceinline__ uint4 read(uint32_t source, int row, int chunk) {
  return ptx::load_shared_quad(source + row * kRowBytes + ((chunk ^ (row % 8)) << 4));
}

}  // namespace tilepost::panel

#endif  // TILEPOST_DEVICE_PANEL_CUH
