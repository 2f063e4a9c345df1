#include "runtime/verify/reference/originals.h"

#include <cmath>

namespace tilepost::verify {

void add_originals(const Problem& problem, const ErrorWeights& weights, const Originals& originals,
                   int first_rank, int end_rank, int64_t begin, int64_t end, float* sum,
                   float* bound) {
  for (int64_t at = begin; at < end; ++at) {
    double total = 0, magnitudes = 0;
    for (int rank = first_rank; rank < end_rank; ++rank) {
      const double value = originals[rank][at];
      total += value;
      magnitudes += std::fabs(value);
    }
    sum[at] = static_cast<float>(total);
    bound[at] =
        problem.sums() ? weights.partial * static_cast<float>(magnitudes) + weights.absolute : 0.0f;
  }
}

}  // namespace tilepost::verify
