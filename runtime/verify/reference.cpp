#include "runtime/verify/reference.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace tilepost::verify {

// Accumulation: n additions in fp32 err by at most n * u * sum |a b| <= n * u * |a| |b|; tensor
// cores truncate instead of rounding and align products before adding, so u is taken as 2^-22, four
// times that of IEEE addition. The sum: `ranks` roundings to the output type, each of a number of
// at most sum |P_r| (1 + u)^ranks; below the normal range a rounding errs by half a denormal step
// instead.
ErrorWeights error_weights(DataKind kind, const Problem& problem) {
  if (kind == DataKind::exact) return {};
  const bool bf16 = problem.output == TILEPOST_BF16;
  const double u = bf16 ? std::ldexp(1.0, -8) : std::ldexp(1.0, -11);
  const double growth = std::pow(1 + u, problem.ranks);
  ErrorWeights weights;
  weights.partial = static_cast<float>(u * problem.ranks * growth);
  weights.product = static_cast<float>(std::ldexp(static_cast<double>(problem.k), -22) * growth);
  weights.absolute = static_cast<float>(problem.ranks * std::ldexp(1.0, bf16 ? -133 : -24));
  return weights;
}

std::vector<int64_t> rows_to_check(const Problem& problem, double max_products, uint64_t seed) {
  const double row_products = static_cast<double>(problem.n) * problem.k * problem.ranks;
  const int64_t affordable =
      std::max<int64_t>(2, static_cast<int64_t>(max_products / row_products));
  std::vector<int64_t> rows(std::min(problem.m, affordable));
  if (affordable >= problem.m) {
    std::iota(rows.begin(), rows.end(), int64_t{0});
    return rows;
  }
  std::set<int64_t> sample{0, problem.m - 1};
  for (uint64_t i = 0; sample.size() < rows.size(); ++i)
    sample.insert(static_cast<int64_t>(mix(seed ^ mix(i)) % static_cast<uint64_t>(problem.m)));
  return {sample.begin(), sample.end()};
}

}  // namespace tilepost::verify
