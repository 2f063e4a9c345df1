// Data, its division among ranks, and the MLP in one piece.
#include <cmath>

#include "mlp.h"

namespace mlp {
namespace {

// Uniform in (-scale, scale), out of the element's index alone.
Matrix random_matrix(uint64_t seed, int64_t elements, double scale) {
  Matrix matrix(elements);
  for (int64_t i = 0; i < elements; ++i) {
    uint64_t bits = (seed << 40) + static_cast<uint64_t>(i);
    bits = (bits ^ (bits >> 31)) * 0x9e3779b97f4a7c15ull;
    bits = (bits ^ (bits >> 29)) * 0xbf58476d1ce4e5b9ull;
    const double unit = static_cast<double>(bits >> 11) * 0x1p-53;
    matrix[i] = tilepost::to_bf16(static_cast<float>((2 * unit - 1) * scale));
  }
  return matrix;
}

void append_rows(const Matrix& from, int64_t first, int64_t end, int64_t columns, Matrix& to) {
  to.insert(to.end(), from.begin() + first * columns, from.begin() + end * columns);
}

double dot(const tilepost::Bf16* x, const tilepost::Bf16* y, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += double{to_float(x[i])} * double{to_float(y[i])};
  return sum;
}

// One token between the two GEMMs: what it is, and the square of how far rounding gate, up and
// itself to bf16 may move it, in units of a rounding.
struct Inner {
  double value, variance;
};

Inner inner_of(double gate, double up) {
  constexpr double kSlope = 1.1;  // the steepest of silu
  const double silu = gate / (1 + std::exp(-gate));
  const double from_gate = kSlope * gate * up, value = silu * up;
  return {value, from_gate * from_gate + 2 * value * value};
}

}  // namespace

Matrix make_x() {
  return random_matrix(1, kTokens * kHidden, 1);
}

Weights make_weights() {
  const double wide = 2 / std::sqrt(static_cast<double>(kHidden));
  const double narrow = 2 / std::sqrt(static_cast<double>(kInner));
  return {random_matrix(2, kInner * kHidden, wide), random_matrix(3, kInner * kHidden, wide),
          random_matrix(4, kHidden * kInner, narrow)};
}

Matrix share_of_x(const Matrix& x, int rank) {
  Matrix share;
  append_rows(x, first_token(rank), first_token(rank) + tokens_of(rank), kHidden, share);
  return share;
}

Matrix gate_up_part(const Weights& weights, int rank) {
  Matrix part;
  append_rows(weights.gate, rank * kPart, (rank + 1) * kPart, kHidden, part);
  append_rows(weights.up, rank * kPart, (rank + 1) * kPart, kHidden, part);
  return part;
}

Matrix down_part(const Weights& weights, int rank) {
  Matrix part;
  for (int64_t row = 0; row < kHidden; ++row) {
    const auto begin = weights.down.begin() + row * kInner + rank * kPart;
    part.insert(part.end(), begin, begin + kPart);
  }
  return part;
}

// A rounding to bf16 moves a number by at most 2^-8 of it, evenly spread: by 2^-8 / sqrt(3) in the
// root of the mean square. Roundings are independent, so their squares add up, and six times the
// root is out of reach of chance.
int64_t count_wrong(const Matrix& x, const Weights& weights, int64_t token,
                    const tilepost::Bf16* y) {
  const tilepost::Bf16* const row = x.data() + token * kHidden;
  std::vector<Inner> inner;
  for (int64_t i = 0; i < kInner; ++i)
    inner.push_back(inner_of(dot(row, weights.gate.data() + i * kHidden, kHidden),
                             dot(row, weights.up.data() + i * kHidden, kHidden)));
  int64_t wrong = 0;
  for (int64_t column = 0; column < kHidden; ++column) {
    double sum = 0, parts = 0, variance = 0;
    for (int rank = 0; rank < kRanks; ++rank) {
      double part = 0;
      for (int64_t i = rank * kPart; i < (rank + 1) * kPart; ++i) {
        const double weight = to_float(weights.down[column * kInner + i]);
        part += weight * inner[i].value;
        variance += weight * weight * inner[i].variance;
      }
      sum += part, parts += std::abs(part);
    }
    variance += kRanks * parts * parts;  // every rank's part and every step of their sum
    const double bound = 6 * 0x1p-8 * std::sqrt(variance / 3);
    const double error = std::abs(double{to_float(y[column])} - sum);
    wrong += !(error <= bound);
  }
  return wrong;
}

}  // namespace mlp
