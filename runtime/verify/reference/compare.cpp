#include "runtime/verify/reference/compare.h"

#include <cmath>
#include <cstdio>

#include "runtime/harness/text.h"

namespace tilepost::verify {

void compare(const Problem& problem, const Output& out, const Expected& expected, int source,
             const TileIndex& tiles, Comparison& result) {
  for (size_t i = 0; i < expected.rows.size(); ++i) {
    const int64_t row = out.shape.out_row(out.rank, source, expected.rows[i]);
    if (row < 0) continue;
    result.elements += problem.n;
    for (int64_t col = 0; col < problem.n; ++col) {
      const int64_t at = static_cast<int64_t>(i) * problem.n + col;
      const float got =
          decode(load_bits(out.data, out.layout.offset(row, col), problem.output), problem.output);
      const double error = std::fabs(static_cast<double>(got) - expected.sum[at]);
      const double bound = expected.bound[at];
      if (error <= bound) {
        if (error * result.worst_bound > result.worst_error * bound || result.worst_bound == 0)
          result.worst_error = error, result.worst_bound = bound;
        continue;
      }
      const Place place = tiles.place(expected.rows[i], col);
      if (result.different++ == 0) {
        result.row = row, result.col = col, result.place = place;
        result.got = got, result.expected = expected.sum[at], result.bound = expected.bound[at];
      }
      result.groups.insert(place.group);
    }
  }
}

std::string describe(const Comparison& comparison) {
  std::string groups;
  for (const int group : comparison.groups)
    groups += (groups.empty() ? "" : ", ") + std::to_string(group);
  std::string text =
      harness::format("first difference at (%lld, %lld): got %.9g, expected %.9g",
                      static_cast<long long>(comparison.row),
                      static_cast<long long>(comparison.col), comparison.got, comparison.expected);
  if (comparison.bound > 0) text += harness::format(" within %.3g", comparison.bound);
  return text + harness::format(
                    "; %lld of %lld differ; tile at (%lld, %lld), position %d, group %d; groups "
                    "with differences: %s",
                    static_cast<long long>(comparison.different),
                    static_cast<long long>(comparison.elements),
                    static_cast<long long>(comparison.place.first_row),
                    static_cast<long long>(comparison.place.first_col), comparison.place.position,
                    comparison.place.group, groups.c_str());
}

}  // namespace tilepost::verify
