// The arithmetic of quantised outputs (tilepost_plan_t::quantised), for kernels of every target and
// the runtime.
//
// A block is TILEPOST_SCALE_BLOCK columns of a row, the last one of a row perhaps fewer. Its scale
// s is the greatest magnitude in it divided by the largest number of 8 bits, so that this element
// becomes that number. An element x becomes x * (1 / s) as an e4m3. Every operation rounds to
// nearest even, in fp32 or to e4m3, so that all targets give the same bits.
//
// A NaN does not count for the scale and stays a NaN. A block with an infinity gets the scale
// infinity: the infinities become NaN, and all other elements 0.
#ifndef TILEPOST_INTERNAL_QUANTISED_H
#define TILEPOST_INTERNAL_QUANTISED_H

#include "tilepost/internal/block_scales.h"

namespace tilepost {

// The scale of a block whose greatest magnitude is `most`, which is not a NaN. A block of zeros has
// the scale 1. A scale is never below the least normal number, so that its inverse is finite.
TILEPOST_INLINE constexpr float scale_of_block(float most) {
  constexpr float kLargest = 448.0f, kLeast = 0x1p-126f;
  if (most == 0.0f) return 1.0f;
  const float scale = most / kLargest;
  return scale < kLeast ? kLeast : scale;
}

// What the elements of a block are multiplied by before they are rounded.
TILEPOST_INLINE constexpr float inverse_of_scale(float scale) {
  return 1.0f / scale;
}

}  // namespace tilepost

#endif  // TILEPOST_INTERNAL_QUANTISED_H
