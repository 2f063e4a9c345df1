// Where groups may end, and where they best do.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/spec/spec.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilepost {

// The tiles of one output, before they are ordered.
struct TileCover {
  int64_t m = 0, n = 0;  // elements
  int tile_m = 1, tile_n = 1;
  int cluster = 1;
  OutputLayout layout = OutputLayout::panel;

  int64_t tiles_m() const { return (m + tile_m - 1) / tile_m; }
  int64_t tiles_n() const { return (n + tile_n - 1) / tile_n; }
  int64_t clusters_m() const { return (tiles_m() + cluster - 1) / cluster; }
  int64_t positions() const { return clusters_m() * cluster * tiles_n(); }
  int64_t waves(int gemm_ctas) const { return (positions() + gemm_ctas - 1) / gemm_ctas; }
  // The smallest grid that takes no more waves.
  int64_t least_ctas(int64_t waves) const {
    return ((positions() + waves - 1) / waves + cluster - 1) / cluster * cluster;
  }

  // The most groups it can be cut into: panel groups are whole rows of clusters.
  int64_t max_groups(int gemm_ctas) const;
};

// One place where a group may end.
struct CutPoint {
  int wave = 0;           // waves from the start of the schedule
  int32_t cut = 0;        // tilepost_map_t::cuts
  int64_t positions = 0;  // of the schedule before it
  int64_t elements = 0;   // of the send buffer before it; in the tile layout to within a cluster
};

// The distinct cut points, at most one per wave, the last one the end of the schedule. A panel cut
// is rounded down to the rows that are complete when its wave ends, so that no group waits for a
// wave of which it has only a few tiles. More than `limit` are thinned out evenly, the first and
// last few kept.
std::vector<CutPoint> cut_points(const TileCover& cover, int gemm_ctas, int limit = 128);

// The cuts of groups of `waves` waves each. Requires that they sum to cover.waves(gemm_ctas) and
// are no more than max_groups(). A panel group gets at least one row of clusters.
std::vector<int32_t> cuts_of_waves(const TileCover& cover, int gemm_ctas,
                                   const std::vector<int>& waves);

struct CutChoice {
  std::vector<int> ends;  // indices of the chosen points, the last one the last point
  double end = 0;         // when the last collective ends
};

// Chooses the groups whose last collective ends first: an exact dynamic programme over the points,
// end[i] = min over j < i of max(ready[i], end[j]) + cost(j, i), where ready[i] is when all
// before point i is computed and cost(j, i) is the collective over what lies between points j and i
// (-1: the start). Among equals, the earliest j: the fewer groups.
CutChoice best_cuts(const std::vector<double>& ready, llvm::function_ref<double(int, int)> cost);

// The fewest groups whose last collective ends by `deadline`, and among as many groups the ones
// that end first: every group is one more launch, which a difference within the model's error is
// not worth. Requires that some groups meet the deadline (that of best_cuts does).
CutChoice fewest_cuts(const std::vector<double>& ready, llvm::function_ref<double(int, int)> cost,
                      double deadline);

}  // namespace tilepost
