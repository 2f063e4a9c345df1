// What the output must be: a plain sum over ranks of plain products, and how far rounding may move
// it.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/verify/data.h"

namespace tilepost::verify {

// The problem as the checks see it.
struct Problem {
  int64_t m, n, k;
  int ranks;
  tilepost_dtype_t input, output;
};

// What an element's error may be: partial * sum |P_r| + product * sum |a_r| |b_r| + absolute, with
// P_r rank r's exact partial result and |a_r|, |b_r| the Euclidean norms of its row of A and of B.
struct ErrorWeights {
  float partial = 0, product = 0, absolute = 0;
};

// Zero for exact data. Otherwise the worst case of: fp32 accumulation of k products on each rank,
// one rounding of each rank's partial result to the output type, and one per hop of the sum.
ErrorWeights error_weights(DataKind kind, const Problem& problem);

// A part of the reference: rows[0 .. num_rows) of the output, num_rows * n elements.
struct ReferenceJob {
  Problem problem;
  Distribution distribution;
  ErrorWeights weights;
  uint64_t seed;
  int run;
  const int64_t* rows;
  int64_t num_rows;
  float* sum;    // [num_rows * n] the expected value
  float* bound;  // [num_rows * n] the largest error allowed
};

// The rows to check: all of them, or, where m * n * k * ranks exceeds `max_products`, a sorted
// sample of what that affords: the first, the last and random ones.
std::vector<int64_t> rows_to_check(const Problem& problem, double max_products, uint64_t seed);

}  // namespace tilepost::verify
