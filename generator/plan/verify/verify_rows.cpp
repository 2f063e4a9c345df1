#include "generator/plan/verify/verify_rows.h"

namespace tilepost {

Contents::Contents(const Plan& plan, const TileMap& map, std::span<const int32_t> row_map) {
  const bool panel = plan.map.layout == TILEPOST_PANEL;
  for (const tilepost_tile_t& tile : map.tiles) {
    if (tile.row < 0 || (panel && tile.n != 0)) continue;
    const int64_t rows = std::min<int64_t>(plan.map.tile_m, plan.map.m - tile.m);
    if (row_map.empty()) strips_.push_back({tile.row, rows, tile.m, tile.n});
    for (int64_t m = tile.m; !row_map.empty() && m < tile.m + rows; ++m)
      strips_.push_back({int64_t{tile.row} + row_map[m], 1, m, tile.n});
  }
  std::sort(strips_.begin(), strips_.end(),
            [](const Strip& x, const Strip& y) { return x.row < y.row; });
}

const Strip* Contents::at(int64_t row) const {
  const auto after = std::upper_bound(strips_.begin(), strips_.end(), row,
                                      [](int64_t r, const Strip& strip) { return r < strip.row; });
  if (after == strips_.begin() || row >= after[-1].row + after[-1].rows) return nullptr;
  return &after[-1];
}

ContentsByRank contents_of(const Plan& plan, const Traffic& traffic) {
  ContentsByRank contents;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    const bool like_first = traffic.maps[rank] == traffic.maps[0] && traffic.row_maps.empty();
    if (rank > 0 && like_first) {
      contents.push_back(contents[0]);
      continue;
    }
    contents.push_back(std::make_shared<Contents>(
        plan, *traffic.maps[rank],
        traffic.row_maps.empty() ? std::span<const int32_t>{} : traffic.row_maps[rank]));
  }
  return contents;
}

std::vector<Wanted> wanted_by(const Plan& plan, const Traffic& traffic, int rank) {
  const Geometry geometry(plan);
  const bool panel = plan.map.layout == TILEPOST_PANEL;
  const int64_t columns = panel ? 1 : geometry.tiles_n, own = geometry.rows_of(rank);
  std::vector<Wanted> wanted;
  if (plan.pattern == TILEPOST_GEMM_ALL_REDUCE && plan.map.division == TILEPOST_DIVISION_SHARES)
    return {{plan.map.m, kAnyRank, 0, 0}};
  if (plan.pattern == TILEPOST_GEMM_ALL_REDUCE)
    return {{plan.tile_map().send_elements / (panel ? plan.map.n : geometry.tile_n), kAnyRank, kAny,
             kAny}};
  if (plan.pattern == TILEPOST_GEMM_REDUCE_SCATTER) {
    for (int64_t column = 0; column < columns; ++column) {
      wanted.push_back({own, kAnyRank, rank * geometry.share, column * geometry.tile_n});
      if (!panel) wanted.push_back({geometry.share - own, kAnyRank, kAny, kAny});
    }
    return wanted;
  }
  for (int source = 0; source < plan.ranks; ++source)
    for (int64_t column = 0; column < columns; ++column)
      for (const Traffic::Run& run : traffic.sent[source][rank])
        wanted.push_back({run.rows, source, run.m, column * geometry.tile_n});
  return wanted;
}

}  // namespace tilepost
