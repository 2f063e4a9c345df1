#include "runtime/verify/reference/experts.h"

#include <algorithm>
#include <cmath>

namespace tilepost::verify {
namespace {

// An operation on gate, with the greatest slope that it has anywhere.
struct Activated {
  double value, slope;
};

double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}

// What up is multiplied by. The derivatives of silu and gelu are at most 1.0999 and 1.1290.
Activated activate(int epilogue, double gate) {
  if ((epilogue & TILEPOST_SWIGLU) != 0) return {gate * logistic(gate), 1.1};
  if ((epilogue & TILEPOST_GEGLU) != 0)
    return {0.5 * gate * (1 + std::erf(gate * 0.70710678118654752440)), 1.13};
  if ((epilogue & TILEPOST_SWIGLU_CLAMPED) != 0) {
    const double g = std::min(gate, 7.0);
    return {g * logistic(1.702 * g), 1.1};
  }
  return {gate, 1};
}

double multiplied_up(int epilogue, double up) {
  return (epilogue & TILEPOST_SWIGLU_CLAMPED) != 0 ? std::clamp(up, -7.0, 7.0) + 1 : up;
}

}  // namespace

std::vector<int32_t> expert_ends(const Problem& problem, int64_t rows, uint64_t seed, int run,
                                 int rank) {
  const uint64_t own =
      mix(seed + mix(static_cast<uint64_t>(run) << 8 | static_cast<uint64_t>(rank)));
  const auto experts = static_cast<uint64_t>(problem.experts);
  std::vector<int32_t> ends;
  for (uint64_t i = 0; i + 1 < experts; ++i) {
    const uint64_t bits = mix(own + i);
    const auto drawn = static_cast<int64_t>(bits % static_cast<uint64_t>(rows + 1));
    const auto even = static_cast<int64_t>(i + 1) * rows / static_cast<int64_t>(experts);
    const int64_t few = bits % 4 == 0 ? drawn : i < experts / 2 ? 0 : rows;
    const int kind = run % 4;
    ends.push_back(static_cast<int32_t>(kind == 0   ? drawn
                                        : kind == 1 ? few
                                        : kind == 2 ? even
                                                    : (i < own % experts ? 0 : rows)));
  }
  std::ranges::sort(ends);
  ends.push_back(static_cast<int32_t>(rows));
  return ends;
}

Problem problem_of_parts(const Problem& problem) {
  Problem parts = problem;
  parts.n = problem.rows_of_b();
  parts.epilogue &= ~kGateOps;
  return parts;
}

// out = f(gate) * up. With errors e_g and e_u of gate and up, |f'| <= s, it errs by at most
// |f(gate)| e_u + s e_g (|up| + e_u), and by the roundings of f and of the product.
void combine_parts(const ReferenceJob& job, const std::vector<float>& sums,
                   const std::vector<float>& bounds) {
  const Problem& problem = job.problem;
  const int64_t n = problem.n, rows_of_b = problem.rows_of_b();
  const bool interleaved = problem.gate == TILEPOST_GATE_INTERLEAVED;
  for (int64_t at = 0; at < job.num_rows * n; ++at) {
    const int64_t row = at / n * rows_of_b, col = at % n;
    const int64_t gate = row + (interleaved ? 2 * col : col);
    const int64_t up = row + (interleaved ? 2 * col + 1 : n + col);
    const Activated f = activate(problem.epilogue, static_cast<double>(sums[gate]));
    const double u = multiplied_up(problem.epilogue, static_cast<double>(sums[up]));
    const auto e_gate = static_cast<double>(bounds[gate]), e_up = static_cast<double>(bounds[up]);
    const double value = f.value * u;
    const double propagated = std::fabs(f.value) * e_up + f.slope * e_gate * (std::fabs(u) + e_up);
    const ErrorWeights& w = job.weights;
    const double rounded = static_cast<double>(w.activation) *
                               (1 + std::fabs(static_cast<double>(sums[gate]))) *
                               (1 + std::fabs(u)) +
                           static_cast<double>(w.arithmetic + w.last) * std::fabs(value) +
                           static_cast<double>(w.absolute);
    job.sum[at] = static_cast<float>(value);
    job.bound[at] = static_cast<float>(propagated + rounded);
  }
}

}  // namespace tilepost::verify
