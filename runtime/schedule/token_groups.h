// With which group a token comes in a run whose tokens go to experts. It is the same for every
// target.
#pragma once

#include <algorithm>

#include "runtime/map/tile_map.h"
#include "runtime/schedule/run_map.h"
#include "tilepost/internal/token_tiles.h"

namespace tilepost {

// `most_tokens` is the routing's.
inline TokenGroups token_groups(const tilepost_plan_t& plan, const RunMap& run, int rank,
                                int most_tokens) {
  const tilepost_map_t& map = run.map();
  TokenGroups groups;
  groups.rank = rank;
  groups.ranks = plan.ranks;
  groups.most_tokens = most_tokens;
  groups.tile_m = map.tile_m;
  if (!run.path.input_arrives()) return groups;
  groups.share_tiles = map.round_robin != 0 ? share_tiles(map) : 0;
  groups.groups = map.num_groups;
  std::copy_n(map.cuts, map.num_groups, groups.cuts);
  return groups;
}

// The rows that a rank's share of the gathered tokens has in a run of m rows.
constexpr int token_rows(const tilepost_plan_t& plan, int64_t m) {
  return static_cast<int>((m + plan.ranks - 1) / plan.ranks);
}

}  // namespace tilepost
