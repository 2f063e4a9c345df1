#include "runtime/map/steps.h"

#include <algorithm>

#include "runtime/map/steps_parts.h"

namespace tilepost {
namespace {

// Groups among which rows are divided: tile columns divide columns.
int row_groups(const Exchange& exchange) {
  return exchange.map.division == TILEPOST_DIVISION_COLUMNS ? 1 : exchange.map.num_groups;
}

// Rows [first, end) that a group of a map divided by rows has; all of them if nothing overlaps.
struct Range {
  int64_t first, end;
};
Range rows_of_group(const tilepost_map_t& map, int group) {
  const int64_t first = group == 0 ? 0 : int64_t{map.cuts[group - 1]} * map.tile_m;
  return {first, std::min(int64_t{map.cuts[group]} * map.tile_m, map.m)};
}

void reduce_scatter_steps(const Exchange& exchange, const TileMap& tile_map, int group, int rank,
                          std::vector<Step>& steps) {
  const tilepost_map_t& map = exchange.map;
  const int64_t share = share_rows(map), own = rows_of_rank(map, rank);
  if (map.division == TILEPOST_DIVISION_COLUMNS) {
    const int64_t slab = slab_rows(map) * map.tile_n, part = share * map.tile_n;
    for (int64_t n = group == 0 ? 0 : map.cuts[group - 1]; n < map.cuts[group]; ++n)
      steps.push_back({StepKind::reduce_scatter, 0, n * slab, n * part, part, part});
    return;
  }
  SharePart part{0, share_tiles(map)};
  int64_t rows = share;
  if (map.division == TILEPOST_DIVISION_SHARES) {
    part = share_part(map, {}, group, rank);
    rows = (part.end - part.first) * map.tile_m;
  }
  steps.push_back({StepKind::reduce_scatter, 0, tile_map.groups[group].offset,
                   part.first * map.tile_m * map.n, rows * map.n,
                   std::min(rows, valid_rows(map, part, own)) * map.n});
}

void all_to_all_panel(const Exchange& exchange, int group, int rank, const RowCounts& counts,
                      std::vector<Step>& steps) {
  const int64_t n = exchange.map.n;
  for (int peer = 0; peer < exchange.ranks; ++peer) {
    const int64_t out = counts.at(rank, group, peer), in = counts.at(peer, group, rank);
    if (out > 0)
      steps.push_back(
          {StepKind::send, peer, sent_row(exchange, group, rank, peer, counts) * n, 0, out * n, 0});
    if (in > 0)
      steps.push_back(
          {StepKind::receive, peer, 0, arriving_row(group, peer, rank, counts) * n, in * n, 0});
  }
}

// Out is, by source, a slab per tile column of the rows that come from there.
void all_to_all_columns(const Exchange& exchange, int group, int rank, const RowCounts& counts,
                        std::vector<Step>& steps) {
  const tilepost_map_t& map = exchange.map;
  const int64_t slab = slab_rows(map), width = map.tile_n;
  for (int64_t n = group == 0 ? 0 : map.cuts[group - 1]; n < map.cuts[group]; ++n)
    for (int peer = 0; peer < exchange.ranks; ++peer) {
      const int64_t out = counts.at(rank, 0, peer), in = counts.at(peer, 0, rank);
      const int64_t from = n * slab + sent_row(exchange, group, rank, peer, counts);
      const int64_t to = counts.before(peer, rank) * tiles_n(map) + n * in;
      if (out > 0) steps.push_back({StepKind::send, peer, from * width, 0, out * width, 0});
      if (in > 0) steps.push_back({StepKind::receive, peer, 0, to * width, in * width, 0});
    }
}

void all_gather_steps(const Exchange& exchange, int group, int rank, std::vector<Step>& steps) {
  const tilepost_map_t& map = exchange.map;
  const int64_t share = share_rows(map), own = rows_of_rank(map, rank), k = exchange.k;
  const bool arrivals = map.division == TILEPOST_DIVISION_ARRIVALS;
  const int64_t own_begin = first_row_of_rank(map, rank);
  if (group == 0 && own > 0)
    steps.push_back({StepKind::own_rows, rank, 0, own_begin * k, own * k, 0});
  if (arrivals && group == 0) return;
  const int64_t first = arrivals ? int64_t{map.cuts[group - 1]} * map.tile_m : 0;
  const int64_t end = arrivals ? std::min(int64_t{map.cuts[group]} * map.tile_m, share) : share;
  if (first == 0 && end == share && share * exchange.ranks == map.m) {
    steps.push_back({StepKind::all_gather, 0, own_begin * k, 0, share * k, 0});
    return;
  }
  // Each pair of ranks in the same distance at the same time.
  for (int distance = 1; distance < exchange.ranks; ++distance) {
    const int to = (rank + distance) % exchange.ranks;
    const int from = (rank + exchange.ranks - distance) % exchange.ranks;
    const int64_t sent = std::clamp<int64_t>(own - first, 0, end - first);
    const int64_t received = std::clamp<int64_t>(rows_of_rank(map, from) - first, 0, end - first);
    if (sent > 0)
      steps.push_back({StepKind::send_rows, to, (own_begin + first) * k, 0, sent * k, 0});
    if (received > 0)
      steps.push_back(
          {StepKind::receive_rows, from, 0, (from * share + first) * k, received * k, 0});
  }
}

}  // namespace

Exchange exchange_of(const tilepost_plan_t& plan) {
  return {plan.pattern,
          plan.routing,
          plan.ranks,
          plan.k,
          plan.transport != TILEPOST_TRANSPORT_NONE,
          plan.access,
          plan.map,
          plan.pushes != 0};
}

int64_t slot_elements(const tilepost_map_t& map) {
  return int64_t{share_tiles(map)} * map.tile_m * map.n;
}

int64_t landed_row(const tilepost_map_t& map, int source, int owner) {
  return source * rows_of_rank(map, owner);
}

int64_t RowCounts::sum(int source, int destination) const {
  int64_t rows = 0;
  for (int group = 0; group < groups_; ++group) rows += at(source, group, destination);
  return rows;
}

int64_t RowCounts::before(int source, int destination) const {
  int64_t rows = 0;
  for (int other = 0; other < source; ++other) rows += sum(other, destination);
  return rows;
}

Route make_route(const Exchange& exchange, std::span<const int64_t> splits,
                 std::span<const int32_t> destinations) {
  const tilepost_map_t& map = exchange.map;
  const int groups = row_groups(exchange), ranks = exchange.ranks;
  Route route;
  route.counts.assign(static_cast<size_t>(groups) * ranks, 0);
  if (exchange.routing != TILEPOST_ROUTING_ROWS) {
    for (int g = 0; g < groups; ++g)
      for (int rank = 0; rank < ranks; ++rank) {
        const int64_t share = splits.empty() ? rows_of_rank(map, rank) : splits[rank];
        route.counts[g * ranks + rank] =
            map.division == TILEPOST_DIVISION_SHARES
                ? valid_rows(map, share_part(map, splits, g, rank), share)
                : share;
      }
    return route;
  }
  route.row_map.resize(static_cast<size_t>(map.m));
  for (int g = 0; g < groups; ++g) {
    const Range range = groups == 1 ? Range{0, map.m} : rows_of_group(map, g);
    int64_t* counts = route.counts.data() + static_cast<size_t>(g) * ranks;
    for (int64_t row = range.first; row < range.end; ++row) ++counts[destinations[row]];
    std::vector<int64_t> next(ranks, range.first);
    for (int rank = 1; rank < ranks; ++rank) next[rank] = next[rank - 1] + counts[rank - 1];
    for (int64_t row = range.first; row < range.end; ++row)
      route.row_map[row] =
          static_cast<int32_t>(next[destinations[row]]++ - row / map.tile_m * map.tile_m);
  }
  return route;
}

RowCounts even_counts(const Exchange& exchange) {
  RowCounts counts(exchange.ranks, row_groups(exchange));
  const Route route = make_route(exchange, {}, {});
  for (int source = 0; source < exchange.ranks; ++source)
    std::ranges::copy(route.counts, counts.of(source).begin());
  return counts;
}

std::vector<Step> steps_of(const Exchange& exchange, const TileMap& tile_map, int group, int rank,
                           const RowCounts& counts) {
  std::vector<Step> steps;
  if (shares_memory(exchange)) {
    shared_steps(exchange, group, rank, counts, steps);
    return steps;
  }
  const tilepost_group_t& block = tile_map.groups[group];
  switch (exchange.pattern) {
    case TILEPOST_GEMM:
      break;
    case TILEPOST_GEMM_ALL_REDUCE:
      steps.push_back({StepKind::all_reduce, 0, block.offset, block.offset, block.count, 0});
      break;
    case TILEPOST_GEMM_REDUCE_SCATTER:
      reduce_scatter_steps(exchange, tile_map, group, rank, steps);
      break;
    case TILEPOST_GEMM_ALL_TO_ALL:
      if (exchange.map.division == TILEPOST_DIVISION_COLUMNS)
        all_to_all_columns(exchange, group, rank, counts, steps);
      else
        all_to_all_panel(exchange, group, rank, counts, steps);
      break;
    case TILEPOST_ALL_GATHER_GEMM:
      all_gather_steps(exchange, group, rank, steps);
      break;
  }
  return steps;
}

int64_t send_buffer_elements(const Exchange& exchange, const TileMap& tile_map) {
  const tilepost_map_t& map = exchange.map;
  if (exchange.pattern != TILEPOST_GEMM_REDUCE_SCATTER || map.division != TILEPOST_DIVISION_ROWS)
    return tile_map.send_elements;
  return std::max(tile_map.send_elements, exchange.ranks * share_rows(map) * map.n);
}

int64_t received_elements(const Exchange& exchange, const TileMap& tile_map, int rank,
                          const RowCounts& counts) {
  const tilepost_map_t& map = exchange.map;
  const bool columns = map.division == TILEPOST_DIVISION_COLUMNS;
  const int64_t width = columns ? int64_t{tiles_n(map)} * map.tile_n : map.n;
  switch (exchange.pattern) {
    case TILEPOST_GEMM_REDUCE_SCATTER:
      return (columns ? share_rows(map) : rows_of_rank(map, rank)) * width;
    case TILEPOST_GEMM_ALL_TO_ALL:
      return counts.arriving(rank) * width;
    case TILEPOST_GEMM_ALL_REDUCE:
      if (map.division == TILEPOST_DIVISION_SHARES) return map.m * width;
      break;
    case TILEPOST_GEMM:
    case TILEPOST_ALL_GATHER_GEMM:
      break;
  }
  return tile_map.send_elements;
}

}  // namespace tilepost
