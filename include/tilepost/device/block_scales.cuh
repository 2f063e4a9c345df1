// The scales of blocks (tilepost_scales_t) in gemm_sm90, a stage of which has one block's elements
// of K. The products of a block are scaled when they are added.
//
// Each warp of a consumer copies the scales of the rows that it multiplies into shared memory of
// its own, ahead of the products and while others are computed. So no barrier is needed, and the
// loader has no more to do than without scales. Registers would not do for what comes ahead: ptxas
// moves them when it unrolls the loop, and a move waits for the load, which took up to 13 % of the
// time. The loader's warp would not do for tiles of 128 rows: its copies take longer than their
// stages. gemm_sm90_small has scales in its stages (staged_scales.cuh).
#ifndef TILEPOST_DEVICE_BLOCK_SCALES_CUH
#define TILEPOST_DEVICE_BLOCK_SCALES_CUH

#include <cstdint>

#include "tilepost/device/panel.cuh"
#include "tilepost/device/ptx_sm80.cuh"
#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/internal/block_scales.h"
#include "tilepost/plan.h"

namespace tilepost {

// What a CTA's loader tells consumers of scales that arrive with rows of A: two words of shared
// memory. Consumers may not ask the barriers of stages instead: where they take turns at tiles, the
// stage of a consumer's next tile is several phases ahead, and a barrier knows the parity of the
// last one alone.
struct ScaleArrivals {
  uint32_t address;

  // One thread, before others use the words.
  __device__ __forceinline__ void init() const { ptx::store_shared_word(come(), 0); }
  // The loader: the number of the run, once; then the position of each tile whose rows have come.
  // Positions grow. The release hands on what the loader has acquired of these rows (PTX ISA 8.9.5:
  // causality order is transitive). Scales are read through the generic proxy, so it is enough.
  __device__ __forceinline__ void note_run(uint32_t run) const {
    ptx::store_shared_word(address, run);
  }
  __device__ __forceinline__ void note_come(int position) const {
    ptx::store_release_shared(come(), static_cast<uint32_t>(position) + 1);
  }
  // All lanes of a warp: whether rows and scales of the tile at `position` have come, the same for
  // all lanes. The vote orders no memory; each lane has acquired by itself.
  __device__ __forceinline__ bool has_come(int position) const {
    return __all_sync(0xFFFFFFFF,
                      ptx::load_acquire_shared(come()) > static_cast<uint32_t>(position)) != 0;
  }
  // The number of the run, behind has_come() or the tile's first stage.
  __device__ __forceinline__ uint32_t run() const { return ptx::load_shared_word(address); }

 private:
  __device__ __forceinline__ uint32_t come() const { return address + sizeof(uint32_t); }
};

// A number of chunks of columns, as a type.
template <int kChunks>
struct Border {};

// The scales of what a thread of a consumer multiplies, where the matrix instruction's rows are
// rows of A. The consumer has kBlocks blocks of 64 rows and kWidth columns of a tile, so that the
// thread has sums of two rows of each block, and its warp of 16. kScales is a ScalesTunable. All
// lanes of a warp call.
template <int kBlocks, int kWidth, int kScales>
class BlockScales {
 public:
  static constexpr bool kUsed = kScales != kNoScales;
  // How many blocks of B the columns may lie in.
  static constexpr int kAcross = TILEPOST_SCALE_BLOCK % kWidth == 0 ? 1 : 2;
  static constexpr int kGroup = kScalesInGroup;

  // Starts to copy the scales of a tile's first group. The consumer's part of the tile begins at
  // `part`, and `memory` is the shared memory of the consumer's warps.
  __device__ __forceinline__ void open(const tilepost_shape_t& shape, const float* scale_a,
                                       const float* scale_b, panel::Place part, int thread,
                                       uint32_t memory) {
    // An un-woven kernel without scales is compiled with this, too, and never calls it.
    static_assert(!kUsed || in_two_scale_blocks(kWidth),
                  "columns of a tile lie in at most two blocks of B");
    const int warp = thread / kLanes, lane = thread % kLanes;
    const ScaleSteps of_a = scale_steps_of_a(kScales == kScalesInColumns, shape.m, shape.k);
    const int row = part.row + warp * kRows + lane / kGroup;
    a_ = scale_a + row * of_a.row + lane % kGroup * of_a.block;
    row_step_ = of_a.row;
    group_step_ = kGroup * of_a.block;
    rows_ = shape.m - row;
    // The last block along n stands in for the one behind it.
    const int last = (shape.n - 1) / TILEPOST_SCALE_BLOCK;
    const int line = min(part.col / TILEPOST_SCALE_BLOCK + lane / kGroup, last);
    b_ = scale_b + line * scale_steps_of_b(shape.k).row + lane % kGroup;
    left_ = static_cast<int>(scale_blocks(shape.k)) - lane % kGroup;
    first_ = memory + warp * scale_bytes_of_warp(kBlocks);
    slot_ = 0;
    border_ = (TILEPOST_SCALE_BLOCK - part.col % TILEPOST_SCALE_BLOCK) / kChunk;
    ptx::wait_for_previous_kernels();  // which may have made the scales
    __syncwarp();                      // all lanes have read what is overwritten
#pragma unroll
    for (int i = 0; i < kParts; ++i) copy(0, i);
    close_group();
  }

  // Takes the scales of the next block along k, whose number in its group is `in_group`. In the
  // first one that waits for the group's copies.
  __device__ __forceinline__ void take(int in_group, int thread) {
    if (in_group == 0) {
      ptx::wait_copies<0>();
      __syncwarp();  // who has waited for its copies tells the other lanes (PTX ISA, cp.async)
    }
    const uint32_t from = first_ + slot_ * scale_slot_bytes(kBlocks);
    const uint32_t row = from + kScaleRowsAt + thread % kLanes / 4 * kFloat;
    float of_b[kAcross];
#pragma unroll
    for (int j = 0; j < kAcross; ++j) of_b[j] = load(from + j * kFloat);
#pragma unroll
    for (int i = 0; i < 2 * kBlocks; ++i) {
      const float of_a = load(row + i * 8 * kFloat);
#pragma unroll
      for (int j = 0; j < kAcross; ++j) scales_[i][j] = of_a * of_b[j];
    }
  }

  // Goes on to the next block, behind take(), and starts to copy a part of the next group. It takes
  // the place of the group before, which all lanes have read: they have met since.
  __device__ __forceinline__ void advance(int in_group) {
    if (in_group < kParts) copy(slot_ < kGroup ? kGroup : 0, in_group);
    if (in_group == kParts - 1) close_group();
    slot_ = (slot_ + 1) % kScaleSlots;
  }

  // Calls multiply(border) with the border between two blocks of B as a constant, that is, with the
  // number of chunks that lie in the first one: which chunk has which scale is then a constant too.
  // Chosen within the main loop it would take up to a fifth of the time.
  template <class Multiply>
  __device__ __forceinline__ void with_border(const Multiply& multiply) const {
    with_border_from<kAcross == 1 ? kChunks : kGrid>(multiply);
  }

  // Adds the products of block `block` of rows, times their scales, to the sums.
  template <int kBorder>
  __device__ __forceinline__ void add(float* sums, const float* products, int block,
                                      Border<kBorder>) const {
#pragma unroll
    for (int chunk = 0; chunk < kChunks; ++chunk)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float scale = scales_[2 * block + i / 2][chunk < kBorder ? 0 : kAcross - 1];
        sums[4 * chunk + i] = fmaf(products[4 * chunk + i], scale, sums[4 * chunk + i]);
      }
  }

 private:
  static constexpr int kFloat = sizeof(float), kLanes = 32;
  static constexpr int kBlock = 64, kRows = kScaleRowsOfWarp;  // rows of a block, and of a warp
  static constexpr int kAtOnce = kLanes / kGroup;              // rows of which lanes copy a group
  static constexpr int kParts = kBlocks * kRows / kAtOnce;     // in which a group is copied
  static constexpr int kChunk = 8, kChunks = kWidth / kChunk;  // columns; of the consumer's
  // Tiles begin at multiples of their width, and so the border lies at a multiple of kGrid chunks.
  static constexpr int kGrid = largest_common_divisor(kWidth, TILEPOST_SCALE_BLOCK) / kChunk;

  static __device__ __forceinline__ float load(uint32_t from) {
    return __uint_as_float(ptx::load_shared_word(from));
  }

  // Starts to copy part `part` of the next group into slots from `slot` on. Lanes side by side have
  // the blocks of a row, which lie side by side in memory if scales are in rows. Below A, where
  // products are zero, scales are zero too: infinity would turn the products into NaN.
  __device__ __forceinline__ void copy(int slot, int part) {
    static_assert(kParts <= kGroup, "a part is copied with each block of the group before");
    constexpr int kPartsOfBlock = kRows / kAtOnce;
    if (left_ <= 0) return;
    const int lane = static_cast<int>(threadIdx.x) % kLanes;
    const int row = part / kPartsOfBlock * kBlock + part % kPartsOfBlock * kAtOnce;
    const uint32_t to = first_ + (slot + lane % kGroup) * scale_slot_bytes(kBlocks);
    ptx::copy_async<kFloat>(to + kScaleRowsAt + (part * kAtOnce + lane / kGroup) * kFloat,
                            a_ + row * row_step_, row < rows_);
    if (part == 0 && lane < kAcross * kGroup)
      ptx::copy_async<kFloat>(to + lane / kGroup * kFloat, b_, true);
  }

  // Goes on to the group behind one that is copied.
  __device__ __forceinline__ void close_group() {
    ptx::commit_copies();
    a_ += group_step_;
    b_ += kGroup;
    left_ -= kGroup;
  }

  // The border is not before kBorder.
  template <int kBorder, class Multiply>
  __device__ __forceinline__ void with_border_from(const Multiply& multiply) const {
    if constexpr (kBorder >= kChunks) {
      multiply(Border<kChunks>{});
    } else {
      if (border_ <= kBorder)
        multiply(Border<kBorder>{});
      else
        with_border_from<kBorder + kGrid>(multiply);
    }
  }

  const float *a_, *b_;  // of the lane's row, or line of B, and block in the next group to copy
  int64_t row_step_, group_step_;
  int rows_, left_;  // of A from the lane's row on; blocks from the lane's block on
  uint32_t first_;   // the warp's first slot
  unsigned slot_;    // of the next block to take
  int border_;       // how many chunks lie in the first block of B
  float scales_[2 * kBlocks][kAcross];
};

}  // namespace tilepost

#endif  // TILEPOST_DEVICE_BLOCK_SCALES_CUH
