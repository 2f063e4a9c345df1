// What the consumers rms_norm and residual_rms_norm must give for the rows that they get.
#pragma once

#include "runtime/verify/reference/compare.h"

namespace tilepost::verify {

constexpr float kNormEpsilon = 1e-5f;

// The rank whose residual a rank adds. Where all ranks end with the same rows they add the same
// residual, so that one reference serves all. The weight is rank 0's everywhere.
inline int residual_rank(const Problem& problem, int rank) {
  return row_of(problem.pattern).product_spreads() ? 0 : rank;
}

// Normalises rows [first, end) of a reference, in double precision. On entry `expected` has the
// product's rows and their bounds, on return the normalised rows and theirs. `kept` gets the sums
// with the residual, if the problem keeps them. `source`: where rows of the residual come from.
//
// With x within b of the exact x0, y = x s w and s = 1 / sqrt(mean(x^2) + epsilon): s moves by at
// most s^2 rms(b) in parts of itself, to first order (Cauchy-Schwarz), so y by at most
//   |w| s (b + |x| s rms(b)),
// a tenth more for the higher orders. fp32: n / 2 + 8 roundings of 2^-24 in parts of y, the worst
// case of a sum of n squares; and y is rounded to the output type. The sum with the residual is
// rounded before it is squared, which adds that rounding to b; integers are exact.
void normalise(const Problem& problem, const Distribution& distribution, const RowSource& source,
               size_t first, size_t end, Expected& expected, Expected& kept);

}  // namespace tilepost::verify
