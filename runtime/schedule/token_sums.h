// How the tokens of a run are summed. It is the same for every target.
#pragma once

#include "runtime/map/tile_map.h"
#include "runtime/schedule/run_map.h"
#include "tilepost/internal/token_sums.h"
#include "tilepost/routing.h"

namespace tilepost {

// `tables` and `most_tokens` are the routing's.
inline TokenSums token_sums(const tilepost_plan_t& plan, const RunMap& run, int rank,
                            const tilepost_routing_info_t& tables, int most_tokens) {
  const tilepost_map_t& map = run.map();
  TokenSums sums;
  sums.m = static_cast<int>(map.m);
  sums.share = static_cast<int>(share_rows(map));
  sums.rank = rank;
  sums.tile_m = map.tile_m;
  sums.in_shares = map.division == TILEPOST_DIVISION_SHARES ? 1 : 0;
  sums.most_tokens = most_tokens;
  sums.top = plan.top;
  sums.token_rows = tables.token_rows;
  sums.token_weights = tables.token_weights;
  sums.tokens = tables.tokens;
  return sums;
}

}  // namespace tilepost
