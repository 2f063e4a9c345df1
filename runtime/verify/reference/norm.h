// The expected results of the consumers rms_norm and residual_rms_norm, for the rows that they get.
#pragma once

#include "runtime/verify/reference/compare.h"

namespace tilepost::verify {

constexpr float kNormEpsilon = 1e-5f;

// The rank whose residual a rank adds. Where all ranks end with the same rows they add the same
// residual, so that one reference serves all ranks. The weight is rank 0's on all ranks.
inline int residual_rank(const Problem& problem, int rank) {
  return row_of(problem.pattern).product_spreads() ? 0 : rank;
}

// Normalises rows [first, end) of a reference, in double precision. On entry `expected` has the
// product's rows and their bounds, and on return the normalised rows and their bounds. `kept` gets
// the sums with the residual, if the problem keeps them. `source`: the source of the residual's
// rows.
//
// The bound. Let x be within b of the exact x0, s = 1 / sqrt(mean(x^2) + epsilon) and y = x s w. To
// first order s changes by at most s^2 rms(b), relative to s (Cauchy-Schwarz). So y changes by at
// most
//   |w| s (b + |x| s rms(b)),
// and a tenth more for the higher orders. Computing in fp32 adds n / 2 + 8 roundings of 2^-24,
// relative to y, which is the worst case of a sum of n squares. Then y is rounded to the output
// type. The sum with the residual is rounded before it is squared, which adds that rounding to b.
// Integers are exact.
void normalise(const Problem& problem, const Distribution& distribution, const RowSource& source,
               size_t first, size_t end, Expected& expected, Expected& kept);

}  // namespace tilepost::verify
