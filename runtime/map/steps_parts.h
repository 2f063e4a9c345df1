// What the steps of all kinds of access are made of.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "runtime/map/steps.h"

namespace tilepost {

// Rows of `part` that lie in a share of `share` rows.
inline int64_t valid_rows(const tilepost_map_t& map, const SharePart& part, int64_t share) {
  return std::clamp<int64_t>(share - part.first * map.tile_m, 0,
                             (part.end - part.first) * map.tile_m);
}

// SHARES: first row, of the send buffer of a rank with these splits, of what a group has for
// `destination`. Parts of a share follow each other, so it needs no other group.
int64_t part_row(const tilepost_map_t& map, std::span<const int64_t> splits, int group,
                 int destination);

// gemm_all_to_all: first row, of the send buffer or of a slab, of what `source` has for
// `destination` in `group`; of any two ranks, from what all ranks know.
int64_t sent_row(const Exchange& exchange, int group, int source, int destination,
                 const RowCounts& counts);

// First row of out on `rank` of what arrives from `source` in `group`; panel.
int64_t arriving_row(int group, int source, int rank, const RowCounts& counts);

// Whether ranks touch each other's memory in this run.
inline bool shares_memory(const Exchange& exchange) {
  return exchange.overlaps && exchange.access != TILEPOST_ACCESS_MESSAGES;
}

// TILEPOST_ACCESS_READ and _WRITE (steps_shared.cpp).
void shared_steps(const Exchange& exchange, int group, int rank, const RowCounts& counts,
                  std::vector<Step>& steps);

}  // namespace tilepost
