// The steps of all_gather_gemm: every rank's rows of A come together on every rank.
#include "runtime/map/steps/parts.h"

namespace tilepost {
namespace {

void bring_own_share(GroupSteps& own) {
  const int64_t k = own.exchange.k;
  bring_own_rows(
      own, {0, first_row_of_rank(own.map, own.rank) * k, rows_of_rank(own.map, own.rank) * k});
}

void messages(GroupSteps& own) {
  const tilepost_map_t& map = own.map;
  const int group = own.group, ranks = own.exchange.ranks;
  const int64_t share = share_rows(map), mine = rows_of_rank(map, own.rank), k = own.exchange.k;
  const bool arrivals = map.division == TILEPOST_DIVISION_ARRIVALS;
  const int64_t own_begin = first_row_of_rank(map, own.rank);
  if (group == 0) bring_own_share(own);
  if (arrivals && group == 0) return;
  const int64_t first = arrivals ? int64_t{map.cuts[group - 1]} * map.tile_m : 0;
  const int64_t end = arrivals ? std::min(int64_t{map.cuts[group]} * map.tile_m, share) : share;
  if (first == 0 && end == share && share * ranks == map.m) {
    own.add({StepKind::all_gather, 0, own_begin * k, 0, share * k, 0});
    return;
  }
  // All ranks exchange at the same distance at the same time, so each rank sends to one rank and
  // receives from one.
  for (int distance = 1; distance < ranks; ++distance) {
    const int to = (own.rank + distance) % ranks, from = (own.rank + ranks - distance) % ranks;
    const int64_t sent = std::clamp<int64_t>(mine - first, 0, end - first);
    const int64_t received = std::clamp<int64_t>(rows_of_rank(map, from) - first, 0, end - first);
    own.add_some({StepKind::send_rows, to, (own_begin + first) * k, 0, sent * k, 0});
    own.add_some({StepKind::receive_rows, from, 0, (from * share + first) * k, received * k, 0});
  }
}

// The group's part of the rows that `source` brings to `rank`.
MovedRows rows_between(const GroupSteps& own, int source, int rank) {
  const tilepost_map_t& map = own.map;
  const SharePart part = arriving_part(map, {}, own.group, source, rank);
  const int64_t first = part.first * map.tile_m, k = own.exchange.k;
  return {first * k, (source * share_rows(map) + first) * k,
          valid_rows(map, part, rows_of_rank(map, source)) * k};
}

void shared(GroupSteps& own) {
  if (own.group == 0)
    bring_own_share(own);
  else
    push_and_land_rows(own, rows_between);
}

}  // namespace

const PatternSteps kAllGatherGemmSteps = {messages, shared};

}  // namespace tilepost
