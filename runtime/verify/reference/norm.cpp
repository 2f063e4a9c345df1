#include "runtime/verify/reference/norm.h"

#include <cmath>

namespace tilepost::verify {
namespace {

class RowNorm {
 public:
  RowNorm(const Problem& problem, const Distribution& distribution, const RowSource& source)
      : problem_(problem), distribution_(distribution), source_(source) {
    const uint64_t stream = stream_of(source.seed, source.run, 0, Matrix::norm_weight);
    for (int64_t col = 0; col < problem.n; ++col)
      weight_.push_back(value_at(addends(distribution), stream, col));
  }

  void add_residual(int64_t row, float* x, float* bound) const {
    const uint64_t stream = source_.stream(row, Matrix::norm_residual);
    const double unit =
        distribution_.kind == DataKind::exact && problem_.linear() ? 0 : half_unit(problem_.output);
    for (int64_t col = 0; col < problem_.n; ++col) {
      const double sum =
          static_cast<double>(x[col]) +
          value_at(addends(distribution_), stream, source_.row_there(row) * problem_.n + col);
      x[col] = static_cast<float>(sum);
      bound[col] = static_cast<float>(bound[col] + unit * (std::fabs(sum) + bound[col]));
    }
  }

  void norm(float* x, float* bound) const {
    const auto n = static_cast<double>(problem_.n);
    double squares = 0, errors = 0;
    for (int64_t col = 0; col < problem_.n; ++col) {
      squares += static_cast<double>(x[col]) * x[col];
      errors += static_cast<double>(bound[col]) * bound[col];
    }
    const double scale = 1 / std::sqrt(squares / n + static_cast<double>(kNormEpsilon));
    const double moved = scale * std::sqrt(errors / n);
    const double rounding = half_unit(problem_.output) + (n / 2 + 8) * std::ldexp(1.0, -24);
    const double least = least_step(problem_.output);
    for (int64_t col = 0; col < problem_.n; ++col) {
      const double y = x[col] * scale * weight_[col];
      const double error =
          1.1 * std::fabs(weight_[col]) * scale * (bound[col] + std::fabs(x[col]) * moved);
      x[col] = static_cast<float>(y);
      bound[col] = static_cast<float>(error + rounding * (std::fabs(y) + error) + least);
    }
  }

 private:
  const Problem& problem_;
  const Distribution& distribution_;
  const RowSource& source_;
  std::vector<double> weight_;
};

}  // namespace

void normalise(const Problem& problem, const Distribution& distribution, const RowSource& source,
               size_t first, size_t end, Expected& expected, Expected& kept) {
  const RowNorm norm(problem, distribution, source);
  for (size_t i = first; i < end; ++i) {
    const size_t at = i * static_cast<size_t>(problem.n);
    float* x = &expected.sum[at];
    float* bound = &expected.bound[at];
    if (problem.keeps_sum()) {
      norm.add_residual(expected.rows[i], x, bound);
      std::copy(x, x + problem.n, &kept.sum[at]);
      std::copy(bound, bound + problem.n, &kept.bound[at]);
    }
    norm.norm(x, bound);
  }
}

}  // namespace tilepost::verify
