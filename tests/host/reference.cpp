#include "tests/host/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reference {
namespace {

// A binary format, by its numbers of stored mantissa bits and exponent bits.
struct Format {
  int mantissa, exponent;
  int bias() const { return (1 << (exponent - 1)) - 1; }
  int top_exponent() const { return (1 << exponent) - 1; }
};

Format format_of(tilepost_dtype_t type) {
  return type == TILEPOST_BF16 ? Format{7, 8} : Format{10, 5};
}

template <class Real>
Matrix gemm_in(tilepost_dtype_t type, const Matrix& a, const Matrix& b, int64_t m, int64_t n,
               int64_t k) {
  std::vector<Real> wide_a(a.size()), wide_b(b.size());
  for (size_t i = 0; i < a.size(); ++i) wide_a[i] = static_cast<Real>(decode(type, a[i]));
  for (size_t i = 0; i < b.size(); ++i) wide_b[i] = static_cast<Real>(decode(type, b[i]));
  Matrix c(m * n);
  for (int64_t row = 0; row < m; ++row)
    for (int64_t col = 0; col < n; ++col) {
      Real sum = 0;
      for (int64_t i = 0; i < k; ++i) sum += wide_a[row * k + i] * wide_b[col * k + i];
      c[row * n + col] = encode(type, sum);
    }
  return c;
}

template <class Real>
Matrix sum_in(tilepost_dtype_t type, const std::vector<Matrix>& terms) {
  Matrix out(terms[0].size());
  for (size_t i = 0; i < out.size(); ++i) {
    Real total = static_cast<Real>(decode(type, terms[0][i]));
    for (size_t rank = 1; rank < terms.size(); ++rank)
      total += static_cast<Real>(decode(type, terms[rank][i]));
    out[i] = encode(type, total);
  }
  return out;
}

}  // namespace

double decode(tilepost_dtype_t type, uint16_t bits) {
  const Format format = format_of(type);
  const int mantissa = bits % (1 << format.mantissa);
  const int exponent = (bits >> format.mantissa) % (1 << format.exponent);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == format.top_exponent())
    return mantissa ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  const double fraction = std::ldexp(mantissa, -format.mantissa);
  return exponent ? sign * std::ldexp(1 + fraction, exponent - format.bias())
                  : sign * std::ldexp(fraction, 1 - format.bias());
}

uint16_t encode(tilepost_dtype_t type, double value) {
  const Format format = format_of(type);
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const uint16_t infinity = static_cast<uint16_t>(format.top_exponent() << format.mantissa);
  if (std::isnan(value)) return sign | infinity | 1 << (format.mantissa - 1);
  if (std::isinf(value)) return sign | infinity;
  if (value == 0) return sign;
  const double magnitude = std::fabs(value);
  const int least = 1 - format.bias();
  const int exponent = std::max(std::ilogb(magnitude), least);
  // In units of the last place. nearbyint rounds ties to even in the default rounding mode. A carry
  // into the next power of two is right too, because consecutive numbers have consecutive patterns.
  const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa - exponent));
  const double pattern = units + std::ldexp(exponent - least, format.mantissa);
  return sign | static_cast<uint16_t>(std::min<double>(pattern, infinity));
}

Matrix random_matrix(tilepost_dtype_t type, int64_t rows, int64_t cols, bool integers,
                     std::mt19937_64& random) {
  Matrix matrix(rows * cols);
  std::uniform_int_distribution<int> whole(-3, 3);
  std::uniform_real_distribution<double> mantissa(-1, 1);
  std::uniform_int_distribution<int> exponent(-8, 0);
  for (uint16_t& element : matrix)
    element =
        encode(type, integers ? whole(random) : std::ldexp(mantissa(random), exponent(random)));
  return matrix;
}

Matrix gemm(tilepost_dtype_t type, const Matrix& a, const Matrix& b, int64_t m, int64_t n,
            int64_t k, bool in_double) {
  return in_double ? gemm_in<double>(type, a, b, m, n, k) : gemm_in<float>(type, a, b, m, n, k);
}

Matrix sum(tilepost_dtype_t type, const std::vector<Matrix>& terms, bool in_double) {
  return in_double ? sum_in<double>(type, terms) : sum_in<float>(type, terms);
}

}  // namespace reference
