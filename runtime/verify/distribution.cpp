#include <cmath>

#include "runtime/verify/data.h"

namespace tilepost::verify {

// Every partial sum over any set of products must stay within the output type's exact integers.
// - Few products: n * v^2 <= limit holds for certain.
// - Many: products of {-1, 0, 1} with on average limit / 4 non-zero ones. More than `limit` of them
//   have, by Chernoff's bound P(X >= 4 mu) <= (e^3 / 4^4)^mu with mu >= 64, a probability below
//   1e-70: not in any run.
Distribution make_distribution(DataKind kind, int64_t k, int ranks, tilepost_dtype_t output) {
  if (kind == DataKind::random) return {kind, 0, 0};
  const double products = static_cast<double>(k) * ranks;
  const double limit = exact_limit(output);
  if (products <= limit) return {kind, static_cast<int>(std::sqrt(limit / products)), 0};
  const double density = std::sqrt(limit / 4 / products);
  return {kind, 0, static_cast<uint32_t>(density * 4294967296.0)};
}

}  // namespace tilepost::verify
