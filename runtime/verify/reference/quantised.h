// The reference of outputs that are quantised to 8 bits with scales of blocks, and the comparison
// with it. It shares nothing with the code that is checked.
#pragma once

#include <vector>

#include "runtime/verify/reference/compare.h"

namespace tilepost::verify {

// The scale of a block whose greatest magnitude is `most`: most / 448, at least 2^-126; 1 for 0.
float scale_of_quantised(float most);

// The number of 8 bits that is nearest to x * (1 / scale), of two the one with an even fraction,
// and at most 448.
float nearest_e4m3(float x, float scale);

// The value of a number of 8 bits.
float value_of_e4m3(uint32_t bits);

// Where the scale of a block of a rank's output lies, and how many elements the scales of `rows`
// rows take, padding included.
int64_t place_of_scale(const Problem& problem, int64_t rows, int64_t row, int64_t block);
int64_t count_scales_of_out(const Problem& problem, int64_t rows);

// As compare(), for an output of 8 bits and its scales. Where a block's sums are exact, its scale
// and its elements have to be those of the reference bit by bit. Otherwise each element, times its
// scale, has to be within a rounding to 8 bits of what the sum may be, and the scale must be that
// of a greatest magnitude which the block may have.
void compare_quantised(const Problem& problem, const Output& out, const std::vector<float>& scales,
                       const Expected& expected, int source, const TileIndex& tiles,
                       Comparison& result);

// Returns a text about padding among the scales of `rows` rows that was written, or "". Padding was
// poisoned with NaN.
std::string written_padding(const Problem& problem, int64_t rows, const std::vector<float>& scales);

}  // namespace tilepost::verify
