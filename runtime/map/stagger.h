// The order of a group's tile rows where the shares of all ranks take turns (tilepost_map_t::
// stagger): every rank begins with the next rank's share, so that no rank is sent to by all others
// at once, and traffic to all of them is even in time.
#pragma once

#include <cstddef>
#include <vector>

#include "tilepost/plan.h"

namespace tilepost {

// A row of tiles before it is swept: its first row and where that goes, -1 for padding.
struct TileRow {
  int64_t m;
  int64_t row;
};

// Tile rows that are swept together.
struct Band {
  std::vector<TileRow> rows;
  size_t turn;  // rows from one share before the next one's, whole clusters
};

// The bands of a group on `rank`, every band an equal part of every share to within a cluster; in
// the last group the rank's own rows come last, so that nothing is left to send. `by_share`:
// [ranks] the group's tile rows of each share. Every band but the last is whole clusters.
std::vector<Band> staggered_bands(const tilepost_map_t& map, int rank, bool last_group,
                                  const std::vector<std::vector<TileRow>>& by_share);

}  // namespace tilepost
