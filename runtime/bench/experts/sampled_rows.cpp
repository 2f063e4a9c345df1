#include "runtime/bench/experts/sampled_rows.h"

#include <algorithm>

#include "runtime/map/tile_map.h"

namespace tilepost::bench {
namespace {

constexpr int kSamples = 32;

}  // namespace

std::vector<int32_t> sample_tokens(int tokens) {
  std::vector<int32_t> sampled;
  const int count = std::min(tokens, kSamples);
  for (int i = 0; i < count; ++i)
    sampled.push_back(static_cast<int32_t>(int64_t{i} * (tokens - 1) / std::max(count - 1, 1)));
  return sampled;
}

std::vector<SampledRow> rows_of_sample(const tilepost_plan_t& plan, const RankRows& rows, int home,
                                       const std::vector<int32_t>& tokens) {
  const int64_t first = home * share_rows(plan.map);
  std::vector<SampledRow> sampled;
  int32_t expert = 0;
  for (int32_t row = 0; row < rows.count(); ++row) {
    while (rows.ends[expert] <= row) ++expert;
    const int64_t token = rows.tokens[row] - first;
    const auto found = std::ranges::lower_bound(tokens, token);
    if (found == tokens.end() || *found != token) continue;
    const auto sample = static_cast<int32_t>(found - tokens.begin());
    sampled.push_back({sample, row, expert, rows.weights[row]});
  }
  return sampled;
}

}  // namespace tilepost::bench
