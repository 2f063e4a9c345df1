#include <algorithm>
#include <cmath>

#include "runtime/verify/reference/data.h"

namespace tilepost::verify {
namespace {

constexpr int kMostRandomBits = 8;  // the most bits of the significand of random data (value_at)

// The magnitude that sums may reach if the epilogue's results are still to be exact. Each vector of
// scales may double a sum, and then addends are added.
double sum_limit(tilepost_dtype_t output, int epilogue, int more_addends, bool blocks) {
  double limit = exact_limit(output) - more_addends * kMaxAddend;
  if ((epilogue & TILEPOST_BIAS) != 0) limit -= kMaxAddend;
  if ((epilogue & TILEPOST_RESIDUAL) != 0) limit -= kMaxAddend;
  if ((epilogue & TILEPOST_SCALE) != 0 || blocks) limit /= 4;
  if ((epilogue & TILEPOST_SCALE_ROWS) != 0) limit /= 2;
  if ((epilogue & TILEPOST_SCALE_COLUMNS) != 0) limit /= 2;
  return limit;
}

}  // namespace

// With few products operands are uniform integers, so small that every sum is exact. With many
// products operands are of {-1, 0, 1}, and limit / 4 products are non-zero on average. By
// Chernoff's bound P(X >= 4 mu) <= (e^3 / 4^4)^mu. So the probability that more than `limit`
// products are non-zero is below 1e-70 with mu = 64. It is below 1e-16 with mu = 15.5, which the
// longest epilogue leaves to outputs with the fewest bits. So this happens in no run.
Distribution make_distribution(DataKind kind, int64_t k, int ranks, tilepost_dtype_t output,
                               tilepost_dtype_t input, int epilogue, int more_addends,
                               bool blocks) {
  if (kind == DataKind::random)
    return {kind, 0, 0, std::min(format_of(input).fraction_bits + 1, kMostRandomBits)};
  // 32-bit inputs have no more bits than TF32, since kernels may multiply in TF32 (PTX ISA 5.2.3).
  const int most_in_input = std::min(exact_limit(input), 1 << 11);
  const double products = static_cast<double>(k) * ranks;
  const double limit = sum_limit(output, epilogue, more_addends, blocks);
  if (products <= limit) {
    const int most = static_cast<int>(std::sqrt(limit / products));
    return {kind, std::min(most, most_in_input), 0};
  }
  const double density = std::sqrt(limit / 4 / products);
  return {kind, 0, static_cast<uint32_t>(density * 4294967296.0)};
}

}  // namespace tilepost::verify
