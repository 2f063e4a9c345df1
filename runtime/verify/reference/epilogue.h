// The epilogue of the reference. It computes in double precision, and makes its operands from their
// hash. The host and a GPU use the same code.
#pragma once

#include <cmath>

#include "runtime/verify/reference/reference.h"

namespace tilepost::verify {

// One rank's epilogue operands. Every element follows from its place.
struct EpilogueSource {
  int ops;  // a set of TILEPOST_SCALE …
  bool adds_bias;
  int64_t n;  // row length of the residual
  Distribution distribution;
  uint64_t scale_a, scale_b, bias, residual;  // streams
};

inline EpilogueSource epilogue_source(const ReferenceJob& job, int rank) {
  const auto stream = [&](Matrix matrix) { return stream_of(job.seed, job.run, rank, matrix); };
  // One scale for all of B belongs to all experts.
  const int scale_expert = (job.problem.epilogue & TILEPOST_SCALE) != 0 ? 0 : job.expert;
  return {job.problem.epilogue,
          !job.problem.sums() || rank == 0,
          job.problem.n,
          job.distribution,
          stream(Matrix::scale_a),
          stream_of_expert(stream(Matrix::scale_b), scale_expert),
          stream_of_expert(stream(Matrix::bias), job.expert),
          stream(Matrix::residual)};
}

TILEPOST_VERIFY_INLINE double scale_of(const EpilogueSource& source, int64_t row, int64_t col) {
  const Distribution& data = source.distribution;
  double scale = 1;
  if ((source.ops & TILEPOST_SCALE) != 0)
    scale = static_cast<double>(scale_at(data, source.scale_a, 0)) *
            static_cast<double>(scale_at(data, source.scale_b, 0));
  if ((source.ops & TILEPOST_SCALE_ROWS) != 0) scale *= scale_at(data, source.scale_a, row);
  if ((source.ops & TILEPOST_SCALE_COLUMNS) != 0) scale *= scale_at(data, source.scale_b, col);
  return scale;
}

// Adds one rank's result to `sum`, given its sum of products, and adds the result's error to
// `error`. `norms` is the product |a| |b|.
TILEPOST_VERIFY_INLINE void add_partial(const EpilogueSource& source, const ErrorWeights& weights,
                                        int64_t row, int64_t col, double products, float norms,
                                        double& sum, float& error) {
  const double scale = scale_of(source, row, col);
  const double scaled = products * scale;
  double bias = 0;
  if ((source.ops & TILEPOST_BIAS) != 0 && source.adds_bias)
    bias = value_at(addends(source.distribution), source.bias, col);
  sum += scaled + bias;
  error += weights.partial * static_cast<float>(fabs(scaled + bias)) +
           weights.product * static_cast<float>(scale) * norms +
           weights.arithmetic * static_cast<float>(fabs(scaled) + fabs(bias));
}

// Carries out the operations that follow the sum over ranks. `sum` becomes the expected value, and
// `error` becomes the bound.
TILEPOST_VERIFY_INLINE void finish(const EpilogueSource& source, const ErrorWeights& weights,
                                   int64_t row, int64_t col, double& sum, float& error) {
  const double x = sum;
  if ((source.ops & TILEPOST_GELU) != 0) sum = 0.5 * x * (1 + erf(x * 0.70710678118654752440));
  if ((source.ops & TILEPOST_SILU) != 0) sum = x / (1 + exp(-x));
  if ((source.ops & TILEPOST_RESIDUAL) != 0)
    sum += value_at(addends(source.distribution), source.residual, row * source.n + col);
  error = weights.slope * error + weights.activation * (1 + static_cast<float>(fabs(x))) +
          (weights.arithmetic + weights.last) * static_cast<float>(fabs(sum)) + weights.absolute;
}

}  // namespace tilepost::verify
