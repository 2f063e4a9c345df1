// The order of a group's tile rows where the shares of all ranks take turns
// (tilepost_map_t::stagger). Every rank begins with the next rank's share. So the ranks do not all
// send to one rank at once, and the traffic to each rank is even in time.
#pragma once

#include <cstddef>
#include <vector>

#include "tilepost/plan.h"

namespace tilepost {

// A row of tiles: its first row of the product (`m`), and the row where it is stored (`row`), which
// is -1 for padding.
struct TileRow {
  int64_t m;
  int64_t row;
};

// Tile rows that are swept together.
struct Band {
  std::vector<TileRow> rows;
  size_t turn;  // how many tile rows of one share come before those of the next; whole clusters
};

// The bands of a group on `rank`. Every band has an equal part of every share, to within a cluster.
// In the last group the rank's own rows come last, so that nothing is left to send when the last
// tiles are computed. Every band but the last is whole clusters. `by_share`: [ranks] the group's
// tile rows of each share.
std::vector<Band> staggered_bands(const tilepost_map_t& map, int rank, bool last_group,
                                  const std::vector<std::vector<TileRow>>& by_share);

}  // namespace tilepost
