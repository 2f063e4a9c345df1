// The scales of blocks (tilepost_scales_t) on the host target. Operands take them when they are
// widened, so that the sums need nothing more. A quantised output gets them
// (tilepost_plan_t::quantised).
#ifndef TILEPOST_HOST_BLOCK_SCALES_H
#define TILEPOST_HOST_BLOCK_SCALES_H

#include <cmath>
#include <cstdint>

#include "tilepost/internal/block_scales.h"
#include "tilepost/internal/quantised.h"
#include "tilepost/mark.cuh"
#include "tilepost/numeric.h"
#include "tilepost/plan.h"

namespace tilepost {

// Multiplies work.a[row][k] and work.b[k][column] by their scales, for the tile's first `rows` rows
// and `columns` columns, and `depth` elements of K from `first_k` on, which lie in one block. The
// scales are `scale_a` and `scale_b`. kScales is a ScalesTunable.
template <int kScales, class Workspace>
inline void scale_panel(Workspace& work, const tilepost_shape_t& shape, const float* scale_a,
                        const float* scale_b, const Tile& tile, int first_k, int rows, int columns,
                        int depth) {
  const ScaleSteps a = scale_steps_of_a(kScales == kScalesInColumns, shape.m, shape.k);
  const ScaleSteps b = scale_steps_of_b(shape.k);
  const int block = first_k / TILEPOST_SCALE_BLOCK;
  for (int row = 0; row < rows; ++row) {
    const float scale = scale_a[(tile.m + row) * a.row + block * a.block];
    for (int k = 0; k < depth; ++k) work.a[row][k] *= scale;
  }
  for (int column = 0; column < columns; ++column) {
    const int of_b = (tile.n + column) / TILEPOST_SCALE_BLOCK;
    const float scale = scale_b[of_b * b.row + block * b.block];
    for (int k = 0; k < depth; ++k) work.b[k][column] *= scale;
  }
}

// The scale of a block of `count` elements of an output.
inline float scale_of_block(const float* elements, int count) {
  float most = 0;
  for (int i = 0; i < count; ++i) most = std::fmax(most, std::fabs(elements[i]));
  return scale_of_block(most);
}

// An element of a block with this scale, quantised.
inline E4m3 quantise(float element, float scale) {
  return to_e4m3(element * inverse_of_scale(scale));
}

// Stores the scale of the block of the output that has element (row, column).
inline void store_scale(const tilepost_epilogue_t& epilogue, int row, int column, float scale) {
  const int block = column / TILEPOST_SCALE_BLOCK;
  epilogue.out_scales[row * epilogue.out_scale_row + block * epilogue.out_scale_block] = scale;
}

}  // namespace tilepost

#endif  // TILEPOST_HOST_BLOCK_SCALES_H
