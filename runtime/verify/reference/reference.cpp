#include "runtime/verify/reference/reference.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "runtime/verify/reference/token_sums.h"

namespace tilepost::verify {

namespace {

// The error of summing k products, in units of |a| |b|.
//
// fp32: n additions err by at most n * u * sum |a b| <= n * u * |a| |b|. Tensor cores truncate
// instead of rounding, and align products before adding. So u is taken as 2^-22, four times the u
// of IEEE addition.
//
// 8-bit inputs: the tensor cores keep 13 bits below the largest number that they add. The worst
// case, k times 2^-13, would be too large a bound to find any error. But tensor cores truncate
// towards zero, and the products' signs are random here. So the errors add up like a random walk
// with steps of 2^-13 times the sum so far, which is about |a| |b| / sqrt(k). The standard
// deviation is then about 2^-13 / 10, and the largest error of a million is below 2^-12. Where runs
// of 128 products are added in fp32 it is smaller by the square root of the number of runs. The
// weights are many times these values. The last term is for sums in fp32 with random roundings.
double sum_weight(const Problem& problem) {
  const auto k = static_cast<double>(problem.k);
  if (!row_of(problem.input).sums_short()) return std::ldexp(k, -22);
  constexpr double kRun = 128;  // products
  const double runs = problem.accumulate == TILEPOST_FAST ? 1.0 : std::max(1.0, k / kRun);
  return std::ldexp(std::min(std::sqrt(k), 8.0) / std::sqrt(runs), -13) +
         std::ldexp(std::sqrt(k), -24);
}

}  // namespace

// A type's significand has one bit more than its fraction, and its least step is that of its
// subnormal numbers (IEEE 754-2019, 3.4). A whole step is allowed. For outputs as wide as float the
// least step is the least normal number, because GPUs may flush smaller numbers to zero.
double half_unit(tilepost_dtype_t type) {
  return std::ldexp(1.0, -format_of(type).fraction_bits - 1);
}

double least_step(tilepost_dtype_t type) {
  const NumberFormat format = format_of(type);
  const int least_exponent = 1 - format.bias();
  return std::ldexp(
      1.0, row_of(type).is_wide() ? least_exponent : least_exponent - format.fraction_bits);
}

namespace {

// Addends besides one bias and one residual. Each of a token's rows has a bias, which is weighted.
int more_addends(const Problem& problem) {
  if (problem.combines())
    return (problem.epilogue & TILEPOST_BIAS) != 0 ? most_of_token(problem.top) : 0;
  return problem.keeps_sum() ? 1 : 0;
}

}  // namespace

Distribution distribution_of(DataKind kind, const Problem& problem) {
  const int sums = problem.combines() ? most_of_token(problem.top) : problem.summed();
  return make_distribution(kind, problem.k, sums, problem.output, problem.input, problem.epilogue,
                           more_addends(problem), problem.blocks() > 0);
}

// The sum over ranks has as many roundings to the output type as there are ranks. Each is the
// rounding of a number of at most sum |v_r| (1 + u)^ranks. Below the normal range a rounding errs
// by half a denormal step instead.
//
// The epilogue in fp32 has a few roundings of 2^-24 each. erff and expf err by a few units in the
// last place of numbers up to 1 (CUDA C++ Programming Guide, "Mathematical Functions"). So gelu and
// silu err by these units times |x|. Their derivatives are at most 1.1290 and 1.0999.
ErrorWeights error_weights(DataKind kind, const Problem& problem) {
  if (kind == DataKind::exact && problem.linear()) return {};
  const bool sums = problem.sums();
  const double u = half_unit(problem.output);
  const double growth = std::pow(1 + u, problem.summed());
  ErrorWeights weights;
  if (sums) weights.partial = static_cast<float>(u * problem.summed() * growth);
  if (kind == DataKind::random) weights.product = static_cast<float>(sum_weight(problem) * growth);
  weights.absolute = static_cast<float>(problem.summed() * least_step(problem.output));
  if (problem.epilogue != 0 || problem.blocks() > 0) weights.arithmetic = std::ldexp(1.0f, -21);
  if ((problem.epilogue & TILEPOST_GELU) != 0) weights.slope = 1.13f;
  if ((problem.epilogue & TILEPOST_SILU) != 0) weights.slope = 1.1f;
  if (!problem.linear()) weights.activation = std::ldexp(1.0f, -20);
  if (!sums) weights.last = static_cast<float>(u * growth);
  return weights;
}

std::vector<int64_t> rows_to_check(const Problem& problem, int64_t total, double max_products,
                                   uint64_t seed) {
  const double row_products = static_cast<double>(problem.n) * problem.k * problem.ranks;
  const int64_t affordable =
      std::max<int64_t>(2, static_cast<int64_t>(max_products / row_products));
  std::vector<int64_t> rows(std::min(total, affordable));
  if (affordable >= total) {
    std::iota(rows.begin(), rows.end(), int64_t{0});
    return rows;
  }
  std::set<int64_t> sample{0, total - 1};
  for (uint64_t i = 0; sample.size() < rows.size(); ++i)
    sample.insert(static_cast<int64_t>(mix(seed ^ mix(i)) % static_cast<uint64_t>(total)));
  return {sample.begin(), sample.end()};
}

}  // namespace tilepost::verify
