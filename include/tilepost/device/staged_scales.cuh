// The scales of blocks (tilepost_scales_t) in gemm_sm90_small, where rows of A lie along a thread's
// sums: every thread of a consumer needs the scales of a fourth of the tile's rows, and all warps
// need all of them. So the loader's warp copies scales into the stages of shared memory, once for
// all consumers. Scales in rows lie in as many lines of memory as the tile has rows. Loading them
// once in each warp took up to three times as long as the products of 128 rows.
#ifndef TILEPOST_DEVICE_STAGED_SCALES_CUH
#define TILEPOST_DEVICE_STAGED_SCALES_CUH

#include <cstdint>

#include "tilepost/device/panel.cuh"
#include "tilepost/device/ptx_sm80.cuh"
#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/internal/block_scales.h"
#include "tilepost/plan.h"

namespace tilepost {

// A stage has kBlocks blocks along k of kTileM rows of A, and as many of B, of which all columns of
// a tile lie in one block. Its scales lie in the order of blocks: those of the rows of A, then that
// of B, and room up to sixteen bytes. kScales is a ScalesTunable.
template <int kTileM, int kBlocks, int kScales>
struct StagedScales {
  static constexpr int kWarp = 32, kFloat = sizeof(float);
  static constexpr int kBlockBytes = (kTileM + 4) * kFloat;
  static constexpr int kLine = 128;  // of shared memory, to which what follows is aligned
  static constexpr int kBytes =
      kScales == kNoScales ? 0 : (kBlocks * kBlockBytes + kLine - 1) / kLine * kLine;
  // Arrivals of the loader's warp at a stage's full barrier, besides the loader's own.
  static constexpr int kCopiers = kScales == kNoScales ? 0 : kWarp;

  // All lanes of the loader's warp. Starts to copy the scales of a stage to `to`. The stage's full
  // barrier is `full`. The tile begins at `place`, and the stage at block `block` along k.
  // `scale_a` and `scale_b` have the scales of all rows of A, and of B. Below A and behind the last
  // block, where products are zero, scales are zero too: infinity would turn the products into NaN.
  static __device__ __forceinline__ void copy(const tilepost_shape_t& shape, const float* scale_a,
                                              const float* scale_b, panel::Place place, int block,
                                              uint32_t to, uint32_t full, int lane) {
    const ScaleSteps of_a = scale_steps_of_a(kScales == kScalesInColumns, shape.m, shape.k);
    const ScaleSteps of_b = scale_steps_of_b(shape.k);
    const float* const a = scale_a + place.row * of_a.row + block * of_a.block;
    const float* const b = scale_b + place.col / TILEPOST_SCALE_BLOCK * of_b.row + block;
    const int rows = shape.m - place.row, blocks = static_cast<int>(scale_blocks(shape.k)) - block;
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      const uint32_t at = to + i * kBlockBytes;
#pragma unroll
      for (int row = lane; row < kTileM; row += kWarp) {
        const bool there = row < rows && i < blocks;
        ptx::copy_async<kFloat>(at + row * kFloat, a + row * of_a.row + i * of_a.block, there);
      }
      if (lane == 0) ptx::copy_async<kFloat>(at + kTileM * kFloat, b + i, i < blocks);
    }
    ptx::arrive_behind_copies(full);
  }

  // The scales of what a thread of a consumer multiplies: of two rows of A in each unit of eight.
  using OfThread = float[kTileM / 4];

  // Takes those of block `block` of the stage whose scales are at `from`.
  static __device__ __forceinline__ void take(OfThread& scales, uint32_t from, int block,
                                              int lane) {
    const uint32_t at = from + block * kBlockBytes;
    const float of_b = __uint_as_float(ptx::load_shared_word(at + kTileM * kFloat));
#pragma unroll
    for (int unit = 0; unit < kTileM / 8; ++unit) {
      const float2 of_a = ptx::load_shared_floats(at + (unit * 8 + lane % 4 * 2) * kFloat);
      scales[2 * unit] = of_a.x * of_b;
      scales[2 * unit + 1] = of_a.y * of_b;
    }
  }

  // Adds the thread's products, times their scales, to its sums.
  template <int kSums>
  static __device__ __forceinline__ void add(float (&sums)[kSums], const float (&products)[kSums],
                                             const OfThread& scales) {
#pragma unroll
    for (int i = 0; i < kSums; ++i) sums[i] = fmaf(products[i], scales[i / 4 * 2 + i % 2], sums[i]);
  }
};

}  // namespace tilepost

#endif  // TILEPOST_DEVICE_STAGED_SCALES_CUH
