#include "runtime/map/stagger.h"

#include <algorithm>
#include <span>

namespace tilepost {
namespace {

// The tile rows in their order, and the ends of the bands before bands are filled up to whole
// clusters.
struct Order {
  std::vector<TileRow> rows;
  std::vector<size_t> ends;
  std::vector<size_t> turns;  // Band::turn of each band
};

// The number of rows in the first `index` parts if `rows` tile rows are divided into `parts` parts.
// Parts are whole clusters. The last cluster may have fewer rows.
size_t end_of_part(const tilepost_map_t& map, size_t rows, int index, int parts) {
  const size_t clusters = (rows + map.cluster - 1) / map.cluster;
  return std::min(rows, clusters * index / parts * map.cluster);
}

// Appends the tile rows of `shares`, which take turns, in bands of the map's band height.
void take_turns(const tilepost_map_t& map, const std::vector<int>& shares,
                const std::vector<std::vector<TileRow>>& by_share, Order& order) {
  size_t most = 0;
  for (const int share : shares) most = std::max(most, by_share[share].size());
  if (most == 0) return;
  const int even = map.band / static_cast<int>(shares.size()) / map.cluster * map.cluster;
  const size_t height = std::max(map.cluster, even);
  const int bands = static_cast<int>((most + height - 1) / height);
  for (int band = 0; band < bands; ++band) {
    size_t turn = 0;
    for (const int share : shares) {
      const std::vector<TileRow>& rows = by_share[share];
      const size_t first = end_of_part(map, rows.size(), band, bands);
      const size_t end = end_of_part(map, rows.size(), band + 1, bands);
      for (size_t i = first; i < end; ++i) order.rows.push_back(rows[i]);
      turn = std::max(turn, end - first);
    }
    order.ends.push_back(order.rows.size());
    order.turns.push_back((turn + map.cluster - 1) / map.cluster * map.cluster);
  }
}

}  // namespace

std::vector<Band> staggered_bands(const tilepost_map_t& map, int rank, bool last_group,
                                  const std::vector<std::vector<TileRow>>& by_share) {
  const int ranks = static_cast<int>(by_share.size());
  std::vector<int> shares;
  for (int distance = 1; distance <= ranks; ++distance) shares.push_back((rank + distance) % ranks);
  Order order;
  if (last_group) shares.pop_back();
  take_turns(map, shares, by_share, order);
  if (last_group) take_turns(map, {rank}, by_share, order);
  std::vector<Band> bands;
  size_t first = 0;
  for (size_t i = 0; i < order.ends.size(); ++i) {
    const size_t clusters = (order.ends[i] + map.cluster - 1) / map.cluster;
    const size_t end = std::min(clusters * map.cluster, order.rows.size());
    if (end == first) continue;  // the band before has the rest of its cluster
    const auto rows = std::span(order.rows).subspan(first, end - first);
    bands.push_back({{rows.begin(), rows.end()}, order.turns[i]});
    first = end;
  }
  return bands;
}

}  // namespace tilepost
