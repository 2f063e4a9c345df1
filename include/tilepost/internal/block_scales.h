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

}  // namespace tilepost

#endif  // TILEPOST_INTERNAL_BLOCK_SCALES_H
