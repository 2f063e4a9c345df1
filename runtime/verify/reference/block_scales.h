// The scales of blocks in the reference: every element is multiplied by the scale of its block
// before anything is added. The host and a GPU use the same code. It shares nothing with the code
// that is checked.
#pragma once

#include <limits>
#include <vector>

#include "runtime/verify/reference/reference.h"

namespace tilepost::verify {

// What an element of A is multiplied by. `row` is the row's number on the rank of `stream`, which
// is that rank's Matrix::scale_a. `blocks` is Problem::blocks(): without blocks it is 1.
TILEPOST_VERIFY_INLINE float block_scale_of_a(const Distribution& distribution, uint64_t stream,
                                              int64_t row, int64_t k, int64_t blocks) {
  return blocks == 0 ? 1.0f : scale_at(distribution, stream, row * blocks + k / Problem::kBlock);
}

// What an element of B in column `n` is multiplied by. `stream` is the rank's Matrix::scale_b.
TILEPOST_VERIFY_INLINE float block_scale_of_b(const Distribution& distribution, uint64_t stream,
                                              int64_t n, int64_t k, int64_t blocks) {
  return blocks == 0
             ? 1.0f
             : scale_at(distribution, stream, n / Problem::kBlock * blocks + k / Problem::kBlock);
}

// How many elements the scales of A's m rows take, padding included.
inline int64_t count_scales_of_a(const Problem& problem, int64_t m) {
  const int64_t rows = problem.scales_a == TILEPOST_SCALES_COLUMNS ? (m + 3) / 4 * 4 : m;
  return rows * problem.blocks();
}

// The scales of A's m rows as a run gets them. Padding is NaN, which no result may contain.
inline std::vector<float> scales_of_a(const Problem& problem, const Distribution& distribution,
                                      uint64_t stream, int64_t m) {
  const bool columns = problem.scales_a == TILEPOST_SCALES_COLUMNS;
  const int64_t blocks = problem.blocks(), pitch = (m + 3) / 4 * 4;
  std::vector<float> scales(static_cast<size_t>(count_scales_of_a(problem, m)),
                            std::numeric_limits<float>::quiet_NaN());
  for (int64_t row = 0; row < m; ++row)
    for (int64_t block = 0; block < blocks; ++block)
      scales[static_cast<size_t>(columns ? block * pitch + row : row * blocks + block)] =
          scale_at(distribution, stream, row * blocks + block);
  return scales;
}

}  // namespace tilepost::verify
