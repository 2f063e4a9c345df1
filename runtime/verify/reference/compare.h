// Holds an output to the reference and says where it differs.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "runtime/verify/reference/layout.h"
#include "runtime/verify/reference/reference.h"

namespace tilepost::verify {

// The reference of one run: of the sum over ranks, or of one rank's product.
struct Expected {
  std::vector<int64_t> rows;  // which rows were computed
  std::vector<float> sum;     // [rows.size() * n]
  std::vector<float> bound;   // [rows.size() * n]
};

struct Comparison {
  int64_t elements = 0;                    // compared
  int64_t different = 0;                   // of those, beyond their bound or NaN
  int64_t row = 0, col = 0;                // of out
  float got = 0, expected = 0, bound = 0;  // at (row, col): the first difference in row-major order
  Place place{};                           // of (row, col)
  std::set<int> groups;                    // with differences
  double worst_error = 0, worst_bound = 0;  // of the element with the largest error / bound
};

// A rank's out and what is known of its elements' places.
struct Output {
  const void* data;  // host memory, elements of the output's type
  const OutputLayout& layout;
  const RunShape& shape;
  int rank;
};

// Compares the rows that `source` is responsible for with the reference and adds to `result`.
// `tiles`: of the source's schedule. Zeros of either sign are equal: an empty sum has no sign that
// all accumulators agree on.
void compare(const Problem& problem, const Output& out, const Expected& expected, int source,
             const TileIndex& tiles, Comparison& result);

// "first difference at (64, 0): got 3, expected 5; 12 of 8256 differ; tile at (64, 0), position 4,
// group 1; groups with differences: 1, 2"
std::string describe(const Comparison& comparison);

}  // namespace tilepost::verify
