#include "runtime/verify/compare.h"

#include <cmath>
#include <cstdio>

#include "runtime/verify/text.h"

namespace tilepost::verify {

Comparison compare(const Problem& problem, const OutputLayout& layout, const Expected& expected,
                   const uint16_t* out) {
  Comparison result;
  result.elements = static_cast<int64_t>(expected.rows.size()) * problem.n;
  for (size_t i = 0; i < expected.rows.size(); ++i)
    for (int64_t col = 0; col < problem.n; ++col) {
      const int64_t row = expected.rows[i];
      const int64_t at = static_cast<int64_t>(i) * problem.n + col;
      const float got = decode(out[layout.offset(row, col)], problem.output);
      const double error = std::fabs(static_cast<double>(got) - expected.sum[at]);
      const double bound = expected.bound[at];
      if (error <= bound) {
        if (error * result.worst_bound > result.worst_error * bound || result.worst_bound == 0)
          result.worst_error = error, result.worst_bound = bound;
        continue;
      }
      const Place place = layout.place(row, col);
      if (result.different++ == 0) {
        result.row = row, result.col = col, result.place = place;
        result.got = got, result.expected = expected.sum[at], result.bound = expected.bound[at];
      }
      result.groups.insert(place.group);
    }
  return result;
}

std::string describe(const Comparison& comparison) {
  std::string groups;
  for (const int group : comparison.groups)
    groups += (groups.empty() ? "" : ", ") + std::to_string(group);
  std::string text =
      format("first difference at (%lld, %lld): got %.9g, expected %.9g",
             static_cast<long long>(comparison.row), static_cast<long long>(comparison.col),
             comparison.got, comparison.expected);
  if (comparison.bound > 0) text += format(" within %.3g", comparison.bound);
  return text + format(
                    "; %lld of %lld differ; tile (%d, %d), position %d, group %d; groups with "
                    "differences: %s",
                    static_cast<long long>(comparison.different),
                    static_cast<long long>(comparison.elements), comparison.place.tile_m,
                    comparison.place.tile_n, comparison.place.position, comparison.place.group,
                    groups.c_str());
}

}  // namespace tilepost::verify
