// Where the scales of blocks lie (tilepost_scales_t), for kernels of every target and the runtime.
#ifndef TILEPOST_INTERNAL_BLOCK_SCALES_H
#define TILEPOST_INTERNAL_BLOCK_SCALES_H

#include <cstdint>

#include "tilepost/mark.cuh"
#include "tilepost/plan_enums.h"

namespace tilepost {

// How many blocks `extent` elements have along k or n.
TILEPOST_INLINE constexpr int64_t scale_blocks(int64_t extent) {
  return (extent + TILEPOST_SCALE_BLOCK - 1) / TILEPOST_SCALE_BLOCK;
}

TILEPOST_INLINE constexpr int largest_common_divisor(int x, int y) {
  return y == 0 ? x : largest_common_divisor(y, x % y);
}

// Whether tiles of `width` columns each lie in at most two blocks of B. They begin at multiples of
// their width. The border between the blocks may lie at multiples of 16 columns, so that kernels
// have few cases.
TILEPOST_INLINE constexpr bool in_two_scale_blocks(int width) {
  constexpr int kBlock = TILEPOST_SCALE_BLOCK, kGrid = 16;
  return width % kGrid == 0 && (width <= kBlock || kBlock % (width - kBlock) == 0);
}

// The value of a template's tunable SCALES.
enum ScalesTunable { kNoScales = 0, kScalesInRows = 1, kScalesInColumns = 2 };

// How far apart scales lie, in elements.
struct ScaleSteps {
  int64_t row;    // from one row of A, or 128 columns of B, to the next
  int64_t block;  // from one block along k to the next
};

// The steps of A's scales, for m rows and k columns of A. `columns`: TILEPOST_SCALES_COLUMNS.
TILEPOST_INLINE constexpr ScaleSteps scale_steps_of_a(bool columns, int64_t m, int64_t k) {
  constexpr int64_t kPitch = TILEPOST_SCALES_PITCH;
  return columns ? ScaleSteps{1, (m + kPitch - 1) / kPitch * kPitch}
                 : ScaleSteps{scale_blocks(k), 1};
}

TILEPOST_INLINE constexpr ScaleSteps scale_steps_of_b(int64_t k) {
  return {scale_blocks(k), 1};
}

// ---- Scales in the shared memory of gemm_sm90 (tilepost/device/block_scales.cuh)

// How many blocks along k a warp copies the scales of together: a group. The warp has room for two
// groups, one that it reads and the next.
constexpr int kScalesInGroup = 4, kScaleSlots = 2 * kScalesInGroup;

// Rows of A that a warp multiplies in each block of 64, which has four warps.
constexpr int kScaleRowsOfWarp = 16;

// Where the scales of rows of A begin in a block's slot, bytes. Those of B take two floats. The
// others are left free, so that the slots of a group begin in different banks of shared memory.
constexpr int kScaleRowsAt = 8 * static_cast<int>(sizeof(float));

// The bytes of a slot, for a warp that multiplies rows of so many blocks of 64.
TILEPOST_INLINE constexpr int scale_slot_bytes(int blocks) {
  return kScaleRowsAt + blocks * kScaleRowsOfWarp * static_cast<int>(sizeof(float));
}
// The bytes of all slots of a warp.
TILEPOST_INLINE constexpr int scale_bytes_of_warp(int blocks) {
  return kScaleSlots * scale_slot_bytes(blocks);
}
// The bytes of so many consumers, of four warps each.
TILEPOST_INLINE constexpr int scale_bytes(int consumers, int blocks) {
  constexpr int kWarps = 4;
  return consumers * kWarps * scale_bytes_of_warp(blocks);
}

}  // namespace tilepost

#endif  // TILEPOST_INTERNAL_BLOCK_SCALES_H
