// The scales of blocks (tilepost_scales_t) in a host kernel: operands take them when they are
// widened, so that the sums need nothing more.
#ifndef TILEPOST_HOST_BLOCK_SCALES_H
#define TILEPOST_HOST_BLOCK_SCALES_H

#include <cstdint>

#include "tilepost/internal/block_scales.h"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost {

// Multiplies work.a[row][k] and work.b[k][column] by their scales, for the tile's first `rows` rows
// and `columns` columns, and `depth` elements of K from `first_k` on, which lie in one block.
// kScales is a ScalesTunable.
template <int kScales, class Workspace>
inline void scale_panel(Workspace& work, const tilepost_shape_t& shape,
                        const tilepost_epilogue_t& epilogue, const Tile& tile, int first_k,
                        int rows, int columns, int depth) {
  const ScaleSteps a = scale_steps_of_a(kScales == kScalesInColumns, shape.m, shape.k);
  const ScaleSteps b = scale_steps_of_b(shape.k);
  const int block = first_k / TILEPOST_SCALE_BLOCK;
  for (int row = 0; row < rows; ++row) {
    const float scale = epilogue.scale_a[(tile.m + row) * a.row + block * a.block];
    for (int k = 0; k < depth; ++k) work.a[row][k] *= scale;
  }
  for (int column = 0; column < columns; ++column) {
    const int of_b = (tile.n + column) / TILEPOST_SCALE_BLOCK;
    const float scale = epilogue.scale_b[of_b * b.row + block * b.block];
    for (int k = 0; k < depth; ++k) work.b[k][column] *= scale;
  }
}

}  // namespace tilepost

#endif  // TILEPOST_HOST_BLOCK_SCALES_H
