// Compares an output with the reference, and describes where they differ.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "runtime/verify/reference/layout.h"
#include "runtime/verify/reference/reference.h"

namespace tilepost::verify {

// The reference of one run: the sum over ranks, or one rank's product.
struct Expected {
  std::vector<int64_t> rows;  // the rows that were computed
  std::vector<float> sum;     // [rows.size() * n]
  std::vector<float> bound;   // [rows.size() * n]
};

struct Comparison {
  int64_t elements = 0;                     // elements compared
  int64_t different = 0;                    // how many of these are beyond their bound, or NaN
  int64_t row = 0, col = 0;                 // the first difference in row-major order, in out
  float got = 0, expected = 0, bound = 0;   // the values there
  Place place{};                            // where (row, col) was computed
  std::set<int> groups;                     // groups with differences
  double worst_error = 0, worst_bound = 0;  // error and bound of the element with the largest error
                                            // / bound
};

// A rank's output, and the layout of its elements.
struct Output {
  const void* data;  // host memory, elements of the output's type
  const OutputLayout& layout;
  const RunShape& shape;
  int rank;
};

// Compares the rows of out that `expected` covers, and adds the outcome to `result`. `source`: the
// rank whose product has these rows, or if ranks are summed, the rank of the output. `tiles`: the
// tiles of the schedule of `source`. Zeros of either sign are equal, because accumulators do not
// agree on the sign of an empty sum.
void compare(const Problem& problem, const Output& out, const Expected& expected, int source,
             const TileIndex& tiles, Comparison& result);

// A text such as "first difference at (64, 0): got 3, expected 5; 12 of 8256 differ; tile at (64,
// 0), position 4, group 1; groups with differences: 1, 2".
std::string describe(const Comparison& comparison);

}  // namespace tilepost::verify
