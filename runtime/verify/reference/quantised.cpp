#include "runtime/verify/reference/quantised.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/harness/text.h"

namespace tilepost::verify {
namespace {

constexpr float kLargestNumber = 448;
constexpr int64_t kColumns = Problem::kBlock;

int64_t blocks_of_row(const Problem& problem) {
  return (problem.n + kColumns - 1) / kColumns;
}

// What the reference says of one block of a row.
struct ExpectedBlock {
  const float* sum;
  const float* bound;
  int64_t count;

  bool is_exact() const {
    return std::all_of(bound, bound + count, [](float error) { return error == 0; });
  }
  // The greatest magnitude, and how far it may be off.
  float most() const {
    float most = 0;
    for (int64_t i = 0; i < count; ++i) most = std::max(most, std::fabs(sum[i]));
    return most;
  }
  float off() const { return *std::max_element(bound, bound + count); }
};

// The number that was expected of element `i`, how far it may be off, and what was found.
struct ComparedNumber {
  float expected, bound, found;
};

// With a sum that may be off, the scale may be too. An element is then rounded with the scale that
// was found, by half of a step: 2^-4 of the element, or 2^-10 of the scale below the normal range.
ComparedNumber compared_element(const ExpectedBlock& block, int64_t i, float found, float scale) {
  if (block.is_exact())
    return {nearest_e4m3(block.sum[i], scale_of_quantised(block.most())), 0, found};
  const float near = std::fabs(block.sum[i]) + block.bound[i];
  constexpr float kMore = 1.0001f;  // roundings in fp32
  return {block.sum[i], kMore * (block.bound[i] + near / 16 + scale / 1024), found * scale};
}

ComparedNumber compared_scale(const ExpectedBlock& block, float scale) {
  const float expected = scale_of_quantised(block.most());
  if (block.is_exact()) return {expected, 0, scale};
  return {expected, block.off() / kLargestNumber * 1.0001f + expected * 1e-6f, scale};
}

}  // namespace

float scale_of_quantised(float most) {
  if (most == 0) return 1;
  return std::max(most / kLargestNumber, std::ldexp(1.0f, -126));
}

// Numbers with the exponent e, at least -6, are 2^(e - 3) apart.
float nearest_e4m3(float x, float scale) {
  constexpr int kLeastExponent = -6, kFractionBits = 3;
  const float inverse = 1 / scale, scaled = x * inverse;
  int exponent = 0;
  std::frexp(scaled, &exponent);  // of a significand from 0.5 to 1
  const int step = std::max(exponent - 1, kLeastExponent) - kFractionBits;
  const float rounded = std::ldexp(std::nearbyint(std::ldexp(scaled, -step)), step);
  return std::copysign(std::min(std::fabs(rounded), kLargestNumber), scaled);
}

float value_of_e4m3(uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 3 & 15), fraction = static_cast<int>(bits & 7);
  if (exponent == 15 && fraction == 7) return std::numeric_limits<float>::quiet_NaN();
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(fraction), -9)
                              : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

int64_t place_of_scale(const Problem& problem, int64_t rows, int64_t row, int64_t block) {
  if (problem.scales_out == TILEPOST_SCALES_ROWS) return row * blocks_of_row(problem) + block;
  return block * ((rows + 3) / 4 * 4) + row;
}

int64_t count_scales_of_out(const Problem& problem, int64_t rows) {
  const bool columns = problem.scales_out == TILEPOST_SCALES_COLUMNS;
  return blocks_of_row(problem) * (columns ? (rows + 3) / 4 * 4 : rows);
}

void compare_quantised(const Problem& problem, const Output& out, const std::vector<float>& scales,
                       const Expected& expected, int source, const TileIndex& tiles,
                       Comparison& result) {
  const int64_t rows = out.shape.out_rows(out.rank);
  const auto look = [&](const ComparedNumber& element, size_t i, int64_t row, int64_t col) {
    const double error = std::fabs(static_cast<double>(element.found) - element.expected);
    const double bound = element.bound;
    if (error <= bound) {
      if (error * result.worst_bound > result.worst_error * bound || result.worst_bound == 0)
        result.worst_error = error, result.worst_bound = bound;
      return;
    }
    const Place place = tiles.place(expected.rows[i], col);
    if (result.different++ == 0) {
      result.row = row, result.col = col, result.place = place;
      result.got = element.found, result.expected = element.expected, result.bound = element.bound;
    }
    result.groups.insert(place.group);
  };
  for (size_t i = 0; i < expected.rows.size(); ++i) {
    const int64_t row = out.shape.out_row(out.rank, source, expected.rows[i]);
    if (row < 0) continue;
    result.elements += problem.n;
    for (int64_t first = 0; first < problem.n; first += kColumns) {
      const int64_t at = static_cast<int64_t>(i) * problem.n + first;
      const ExpectedBlock block{&expected.sum[at], &expected.bound[at],
                                std::min(kColumns, problem.n - first)};
      const float scale = scales[place_of_scale(problem, rows, row, first / kColumns)];
      look(compared_scale(block, scale), i, row, first);
      for (int64_t col = first; col < first + block.count; ++col) {
        const uint32_t bits = load_bits(out.data, out.layout.offset(row, col), TILEPOST_E4M3);
        look(compared_element(block, col - first, value_of_e4m3(bits), scale), i, row, col);
      }
    }
  }
}

std::string written_padding(const Problem& problem, int64_t rows,
                            const std::vector<float>& scales) {
  const int64_t pitch = (rows + 3) / 4 * 4;
  if (problem.scales_out == TILEPOST_SCALES_ROWS) return "";
  for (int64_t block = 0; block < blocks_of_row(problem); ++block)
    for (int64_t row = rows; row < pitch; ++row)
      if (!std::isnan(scales[block * pitch + row]))
        return harness::format("padding behind the scales of block %lld was written",
                               static_cast<long long>(block));
  return "";
}

}  // namespace tilepost::verify
