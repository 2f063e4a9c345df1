// The scales of blocks (tilepost_scales_t) in the kernels for sm_90a. A stage of the pipeline has
// one block's elements of K, or two, and the products of a block are scaled when they are added.
//
// Warps load the scales of B by themselves, 32 blocks ahead, into registers, and those of A some
// blocks ahead. Each lane loads the scale of one row of A and hands it to the lanes that need it.
// So the thread that loads operands has no more to do than without scales, and no shared memory is
// taken from the stages. gemm_sm90_small has scales in its stages (staged_scales.cuh).
#ifndef TILEPOST_DEVICE_BLOCK_SCALES_CUH
#define TILEPOST_DEVICE_BLOCK_SCALES_CUH

#include <cstdint>

#include "tilepost/device/panel.cuh"
#include "tilepost/internal/block_scales.h"
#include "tilepost/plan.h"

namespace tilepost {

// The scales of kAcross blocks of B, which lie side by side along n. Each lane holds those of one
// block along k, so that a load brings the scales for 32 steps. Beyond the last block along k,
// where all products are zero, scales are zero too: infinity would turn them into NaN.
template <int kAcross>
class ScalesOfB {
 public:
  // Starts at block `first` along k for columns from `column` on.
  __device__ __forceinline__ void open(const tilepost_shape_t& shape, const float* scale_b,
                                       int column, int first, int lane) {
    const int across = (shape.n - 1) / TILEPOST_SCALE_BLOCK;  // the last block along n
    const int block = min(column / TILEPOST_SCALE_BLOCK, across);
    const auto along_k = static_cast<int>(scale_blocks(shape.k));
    rows_ = scale_b + static_cast<int64_t>(block) * along_k;
    second_ = block < across ? along_k : 0;
    last_ = along_k - 1;
    next_block_ = first + lane;
    load();
  }

  // Goes on to step `step`, counted from 0. It is the next step after each call.
  __device__ __forceinline__ void advance(int step) {
    if (step % kLanes != 0) return;
#pragma unroll
    for (int i = 0; i < kAcross; ++i) held_[i] = next_[i];
    next_block_ += kLanes;
    load();
  }

  // The scale of block `i` along n in step `step`. All lanes of the warp call.
  __device__ __forceinline__ float at(int i, int step) const {
    return __shfl_sync(0xFFFFFFFF, held_[i], step % kLanes);
  }

 private:
  static constexpr int kLanes = 32;

  __device__ __forceinline__ void load() {
#pragma unroll
    for (int i = 0; i < kAcross; ++i)
      next_[i] = next_block_ <= last_ ? rows_[next_block_ + i * second_] : 0.0f;
  }

  const float* rows_;
  int second_;             // from the scales of the first block along n to those of the second
  int next_block_, last_;  // along k: the one that the lane loads next, and the last there is
  float held_[kAcross], next_[kAcross];
};

// The scales of a row of A, which a lane loads kAhead blocks along k ahead.
template <int kAhead, int kScales>
class ScalesOfA {
 public:
  // Starts at the first block along k. A row below A has the scales of its last row.
  __device__ __forceinline__ void open(const tilepost_shape_t& shape, const float* scale_a,
                                       int row) {
    const ScaleSteps steps = scale_steps_of_a(kScales == kScalesInColumns, shape.m, shape.k);
    scales_ = scale_a + min(row, shape.m - 1) * steps.row;
    step_ = static_cast<int>(steps.block);
    left_ = static_cast<int>(scale_blocks(shape.k));
#pragma unroll
    for (int i = 0; i < kAhead; ++i) load(i);
  }

  // Returns the scale of the next block, and starts to load that of the block kAhead further on.
  // Beyond the last block along k scales are zero. `slot` is the number of the call modulo kAhead,
  // a constant after unrolling: registers that are being loaded must not be moved.
  __device__ __forceinline__ float take(int slot) {
    const float scale = ahead_[slot];
    load(slot);
    return scale;
  }

 private:
  __device__ __forceinline__ void load(int slot) {
    ahead_[slot] = left_ > 0 ? scales_[0] : 0.0f;
    scales_ += step_;
    --left_;
  }

  const float* scales_;  // of the row, in the block that is loaded next
  int step_;             // from one block along k to the next
  int left_;             // blocks that are not loaded yet
  float ahead_[kAhead];
};

// The scales of what a thread of a consumer of gemm_sm90 multiplies, where the matrix
// instruction's rows are rows of A. The consumer has kBlocks blocks of 64 rows and kWidth columns
// of a tile, so that the thread has sums of two rows of each block. kScales is a ScalesTunable.
template <int kBlocks, int kWidth, int kScales>
class BlockScales {
 public:
  static constexpr bool kUsed = kScales != 0;
  static constexpr int kAhead = 4;

  // Starts to load the scales of the first block along k. The consumer's part of a tile begins at
  // `part`.
  __device__ __forceinline__ void open(const tilepost_shape_t& shape, const float* scale_a,
                                       const float* scale_b, panel::Place part, int thread) {
    // An un-woven kernel without scales is compiled with this, too, and never calls it.
    static_assert(!kUsed || in_two_scale_blocks(kWidth),
                  "columns of a tile lie in at most two blocks of B");
    static_assert(!kUsed || kBlocks <= 2, "a warp has as many lanes as rows");
    static_assert(!kUsed || kBlocks == 1 || kAcross == 1,
                  "a branch between two blocks would serialise wgmma");
    constexpr int kBlock = TILEPOST_SCALE_BLOCK;
    ptx::wait_for_previous_kernels();  // which may have made the scales
    const int lane = thread % 32, row = part.row + thread / 32 * 16 + lane % 16;
    a_.open(shape, scale_a, kBlocks > 1 ? row + lane / 16 * 64 : row);
    b_.open(shape, scale_b, part.col, 0, lane);
    border_ = (kBlock - part.col % kBlock) / kChunk;
  }

  // Takes the scales of block `stage` along k, the next one. `slot` is stage % kAhead, a constant.
  // All lanes of the warp call.
  __device__ __forceinline__ void take(int stage, int slot, int thread) {
    const float own = a_.take(slot);
    b_.advance(stage);
#pragma unroll
    for (int i = 0; i < 2 * kBlocks; ++i) {
      const int lane = i / 2 * 16 + i % 2 * 8 + thread % 32 / 4;
      const float of_row = __shfl_sync(0xFFFFFFFF, own, lane);
#pragma unroll
      for (int j = 0; j < kAcross; ++j) scales_[i][j] = of_row * b_.at(j, stage);
    }
  }

  // Adds the products of block `block` of rows, times their scales, to the sums.
  __device__ __forceinline__ void add(float* sums, const float* products, int block) const {
    add_from<kAcross == 1 ? kChunks : kGrid>(sums, products, block);
  }

 private:
  static constexpr int kChunk = 8, kChunks = kWidth / kChunk;  // columns; of the consumer's
  // How many blocks of B the columns may lie in. Tiles begin at multiples of their width, and so
  // the border between two blocks lies at a multiple of kGrid chunks.
  static constexpr int kAcross = TILEPOST_SCALE_BLOCK % kWidth == 0 ? 1 : 2;
  static constexpr int kGrid = largest_common_divisor(kWidth, TILEPOST_SCALE_BLOCK) / kChunk;

  // Calls add_to() for the border, which is not before kBorder: which chunk has which scale is then
  // a constant, and choosing takes no instruction.
  template <int kBorder>
  __device__ __forceinline__ void add_from(float* sums, const float* products, int block) const {
    if constexpr (kBorder >= kChunks) {
      add_to<kChunks>(sums, products, block);
    } else {
      if (border_ <= kBorder)
        add_to<kBorder>(sums, products, block);
      else
        add_from<kBorder + kGrid>(sums, products, block);
    }
  }
  template <int kBorder>
  __device__ __forceinline__ void add_to(float* sums, const float* products, int block) const {
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float scale = scales_[2 * block + i / 2][chunk < kBorder ? 0 : kAcross - 1];
        sums[4 * chunk + i] = fmaf(products[4 * chunk + i], scale, sums[4 * chunk + i]);
      }
  }

  ScalesOfA<kAhead, kScales> a_;
  ScalesOfB<kAcross> b_;
  int border_;  // how many chunks lie in the first block of B
  float scales_[2 * kBlocks][kAcross];
};

}  // namespace tilepost

#endif  // TILEPOST_DEVICE_BLOCK_SCALES_CUH
