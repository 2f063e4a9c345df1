#include "generator/plan/cuts.h"

#include <algorithm>
#include <limits>

namespace tilepost {
namespace {

// The cut after `rows` rows of clusters.
int32_t panel_cut(const TileCover& cover, int64_t rows) {
  return static_cast<int32_t>(std::min(rows * cover.cluster, cover.tiles_m()));
}

// Rows of clusters that are complete when `wave` waves have run.
int64_t complete_rows(const TileCover& cover, int gemm_ctas, int64_t wave) {
  return wave * gemm_ctas / (cover.tiles_n() * cover.cluster);
}

CutPoint panel_point(const TileCover& cover, int gemm_ctas, int64_t wave) {
  const int64_t rows = std::min(complete_rows(cover, gemm_ctas, wave), cover.clusters_m());
  CutPoint point;
  point.wave = static_cast<int>(wave);
  point.cut = panel_cut(cover, rows);
  point.positions = rows * cover.cluster * cover.tiles_n();
  point.elements = std::min(int64_t{point.cut} * cover.tile_m, cover.m) * cover.n;
  return point;
}

CutPoint tile_point(const TileCover& cover, int gemm_ctas, int64_t wave) {
  CutPoint point;
  point.wave = static_cast<int>(wave);
  point.positions = std::min(wave * gemm_ctas, cover.positions());
  point.cut = static_cast<int32_t>(point.positions);
  // Padding positions have no slot; they are spread evenly over the schedule.
  point.elements = point.positions * cover.tiles_m() / (cover.clusters_m() * cover.cluster) *
                   cover.tile_m * cover.tile_n;
  return point;
}

std::vector<CutPoint> thin_out(std::vector<CutPoint> points, int limit) {
  constexpr size_t kKept = 8;  // at either end, where small groups pay
  const size_t stride = (points.size() + limit - 1) / limit;
  if (stride <= 1) return points;
  std::vector<CutPoint> kept;
  for (size_t i = 0; i < points.size(); ++i)
    if (i < kKept || i + kKept >= points.size() || i % stride == 0) kept.push_back(points[i]);
  return kept;
}

}  // namespace

int64_t TileCover::max_groups(int gemm_ctas) const {
  return layout == OutputLayout::panel ? clusters_m() : waves(gemm_ctas);
}

std::vector<CutPoint> cut_points(const TileCover& cover, int gemm_ctas, int limit) {
  std::vector<CutPoint> points;
  const int64_t waves = cover.waves(gemm_ctas);
  for (int64_t wave = 1; wave <= waves; ++wave) {
    const CutPoint point = cover.layout == OutputLayout::panel ? panel_point(cover, gemm_ctas, wave)
                                                               : tile_point(cover, gemm_ctas, wave);
    const int32_t before = points.empty() ? 0 : points.back().cut;
    if (point.cut > before) points.push_back(point);
  }
  return thin_out(std::move(points), limit);
}

std::vector<int32_t> cuts_of_waves(const TileCover& cover, int gemm_ctas,
                                   const std::vector<int>& waves) {
  std::vector<int32_t> cuts;
  const int64_t groups = static_cast<int64_t>(waves.size());
  int64_t wave = 0, row = 0;
  for (int64_t g = 0; g < groups; ++g) {
    wave += waves[g];
    if (cover.layout == OutputLayout::panel) {
      const int64_t most = cover.clusters_m() - (groups - 1 - g);  // one row for each that follows
      row = g + 1 == groups ? cover.clusters_m()
                            : std::clamp(complete_rows(cover, gemm_ctas, wave), row + 1, most);
      cuts.push_back(panel_cut(cover, row));
    } else {
      cuts.push_back(static_cast<int32_t>(std::min(wave * gemm_ctas, cover.positions())));
    }
  }
  return cuts;
}

CutChoice best_cuts(const std::vector<double>& ready, llvm::function_ref<double(int, int)> cost) {
  const int points = static_cast<int>(ready.size());
  std::vector<double> end(points, std::numeric_limits<double>::infinity());
  std::vector<int> before(points, -1);
  for (int i = 0; i < points; ++i) {
    for (int j = -1; j < i; ++j) {
      const double start = std::max(ready[i], j < 0 ? 0.0 : end[j]);
      const double candidate = start + cost(j, i);
      if (candidate < end[i]) {
        end[i] = candidate;
        before[i] = j;
      }
    }
  }
  CutChoice choice;
  for (int i = points - 1; i >= 0; i = before[i]) choice.ends.push_back(i);
  std::reverse(choice.ends.begin(), choice.ends.end());
  choice.end = points > 0 ? end.back() : 0;
  return choice;
}

CutChoice fewest_cuts(const std::vector<double>& ready, llvm::function_ref<double(int, int)> cost,
                      double deadline) {
  const int points = static_cast<int>(ready.size());
  // end[i]: of the best `groups` groups that cover the points up to i; before[groups - 1][i]: where
  // the last of them starts.
  std::vector<double> end(points);
  std::vector<std::vector<int>> before;
  for (int groups = 1; groups <= points; ++groups) {
    std::vector<double> next(points, std::numeric_limits<double>::infinity());
    before.emplace_back(points, -1);
    for (int i = groups - 1; i < points; ++i) {
      for (int j = groups == 1 ? -1 : groups - 2; j < (groups == 1 ? 0 : i); ++j) {
        const double candidate = std::max(ready[i], j < 0 ? 0.0 : end[j]) + cost(j, i);
        if (candidate >= next[i]) continue;
        next[i] = candidate;
        before.back()[i] = j;
      }
    }
    end = std::move(next);
    if (end.back() <= deadline) break;
  }
  CutChoice choice;
  choice.end = end.back();
  int i = points - 1;
  for (size_t groups = before.size(); groups > 0; i = before[--groups][i]) choice.ends.push_back(i);
  std::reverse(choice.ends.begin(), choice.ends.end());
  return choice;
}

}  // namespace tilepost
