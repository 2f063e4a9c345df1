#include "runtime/map/sum_parts.h"

#include <algorithm>

#include "runtime/map/tile_map.h"

namespace tilepost {
namespace {

constexpr int kEnough = 4096;     // parts of all shares: two for each warp of a large GPU
constexpr int64_t kNarrow = 512;  // columns of a part, at least
constexpr int64_t kUnit = 256;    // columns that a warp has at a time

}  // namespace

SumParts sum_parts(const tilepost_plan_t& plan, int64_t m) {
  const int64_t rows = (m + plan.ranks - 1) / plan.ranks;
  int64_t columns = plan.map.n, across = 1;
  while (plan.ranks * rows * across < kEnough && columns > kNarrow) {
    columns = (columns / 2 + kUnit - 1) / kUnit * kUnit;
    across = (plan.map.n + columns - 1) / columns;
  }
  return {static_cast<int>(rows), static_cast<int>(columns), static_cast<int>(across)};
}

// Parts are halved where all shares have fewer than kEnough. After that they have fewer than twice
// as many, and a share has at most half of these.
int most_sum_parts(const tilepost_plan_t& plan) {
  return std::max(kEnough, sum_parts(plan, plan.map.m).count());
}

}  // namespace tilepost
