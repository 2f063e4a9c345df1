#include "runtime/map/steps/parts.h"

namespace tilepost {

int64_t part_row(const tilepost_map_t& map, std::span<const int64_t> splits, int group,
                 int destination) {
  int64_t tile_rows = 0;
  for (int rank = 0; rank < map.ranks; ++rank) {
    const SharePart part = share_part(map, splits, group, rank);
    tile_rows += rank < destination ? part.end : part.first;
  }
  return tile_rows * map.tile_m;
}

int64_t sent_row(const Exchange& exchange, int group, int source, int destination,
                 const RowCounts& counts) {
  if (exchange.map.division == TILEPOST_DIVISION_SHARES) {
    std::vector<int64_t> splits;
    if (exchange.routing == TILEPOST_ROUTING_SPLITS)
      for (int rank = 0; rank < exchange.ranks; ++rank) splits.push_back(counts.sum(source, rank));
    return part_row(exchange.map, splits, group, destination);
  }
  // Tile columns divide no rows, so with them all rows are one group.
  const int last = std::min(group, counts.groups() - 1);
  int64_t row = 0;
  for (int g = 0; g <= last; ++g)
    for (int rank = 0; rank < (g < last ? exchange.ranks : destination); ++rank)
      row += counts.at(source, g, rank);
  return row;
}

int64_t arriving_row(int group, int source, int rank, const RowCounts& counts) {
  int64_t row = counts.before(source, rank);
  for (int g = 0; g < group; ++g) row += counts.at(source, g, rank);
  return row;
}

int64_t out_width(const tilepost_map_t& map) {
  return map.division == TILEPOST_DIVISION_COLUMNS ? int64_t{tiles_n(map)} * map.tile_n : map.n;
}

SummedPart summed_part(const GroupSteps& own, int rank) {
  const tilepost_map_t& map = own.map;
  const SharePart part = share_part(map, {}, own.group, rank);
  const int64_t first = part.first * map.tile_m;
  return {first * map.n, (first_row_of_rank(map, rank) + first) * map.n,
          valid_rows(map, part, rows_of_rank(map, rank)) * map.n};
}

void sum_own_part(GroupSteps& own, const SummedPart& part, int64_t to) {
  int64_t from = 0;
  if (own.reads()) {
    own.announce(StepKind::announce);
    from = part_row(own.map, {}, own.group, own.rank) * own.map.n;
    own.for_others([&](int peer) {
      own.add_some({StepKind::pull_part, peer, from, part.in_share, part.count, 0});
    });
  }
  own.add_some({StepKind::sum, 0, from, to, part.count, 0, part.in_share});
}

void bring_own_rows(GroupSteps& own, const MovedRows& rows) {
  own.add_some({StepKind::own_rows, own.rank, rows.in_a, rows.in_gathered, rows.count, 0});
}

// This rank pushes first to the rank before it, which multiplies these rows before those of any
// other rank.
void push_and_land_rows(GroupSteps& own, RowsBetween between) {
  const int ranks = own.exchange.ranks;
  for (int distance = 1; distance < ranks; ++distance) {
    const int peer = (own.rank + ranks - distance) % ranks;
    const MovedRows rows = between(own, own.rank, peer);
    own.add_some({StepKind::push_rows, peer, rows.in_a, rows.in_gathered, rows.count, 0});
  }
  own.announce(StepKind::announce);
  own.for_others([&](int peer) {
    const MovedRows rows = between(own, peer, own.rank);
    own.add_some({StepKind::landed_rows, peer, rows.in_gathered, rows.in_gathered, rows.count, 0});
  });
}

}  // namespace tilepost
