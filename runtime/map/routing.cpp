// Counts how many rows go from which rank to which, in every group (steps.h).
#include <algorithm>

#include "runtime/map/steps/parts.h"

namespace tilepost {
namespace {

// The number of groups among which rows are divided. It is one where groups are tile columns, since
// tile columns divide no rows.
int row_groups(const Exchange& exchange) {
  return exchange.map.division == TILEPOST_DIVISION_COLUMNS ? 1 : exchange.map.num_groups;
}

// The rows [first, end) of a group of a map that is divided by rows. If nothing overlaps, they are
// all rows.
struct Range {
  int64_t first, end;
};
Range rows_of_group(const tilepost_map_t& map, int group) {
  const int64_t first = group == 0 ? 0 : int64_t{map.cuts[group - 1]} * map.tile_m;
  return {first, std::min(int64_t{map.cuts[group]} * map.tile_m, map.m)};
}

}  // namespace

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

std::vector<int64_t> RowCounts::from_each(int destination) const {
  std::vector<int64_t> rows;
  rows.reserve(ranks_);
  for (int source = 0; source < ranks_; ++source) rows.push_back(sum(source, destination));
  return rows;
}

int64_t RowCounts::sent_before(int source, int destination) const {
  int64_t rows = 0;
  for (int other = 0; other < destination; ++other) rows += sum(source, other);
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

RowCounts even_input_counts(int ranks, int64_t m) {
  tilepost_map_t sent{};
  sent.m = m;
  sent.ranks = ranks;
  RowCounts counts(ranks, 1);
  for (int source = 0; source < ranks; ++source)
    for (int rank = 0; rank < ranks; ++rank) counts.at(source, 0, rank) = rows_of_rank(sent, rank);
  return counts;
}

InputRoute make_input_route(int ranks, std::span<const int64_t> splits,
                            std::span<const int32_t> destinations) {
  InputRoute route;
  route.counts.assign(splits.begin(), splits.end());
  if (!splits.empty()) return route;
  route.counts.assign(ranks, 0);
  for (const int32_t rank : destinations) ++route.counts[rank];
  std::vector<int64_t> next(ranks, 0);
  for (int rank = 1; rank < ranks; ++rank) next[rank] = next[rank - 1] + route.counts[rank - 1];
  route.order.resize(destinations.size());
  for (size_t row = 0; row < destinations.size(); ++row)
    route.order[next[destinations[row]]++] = static_cast<int32_t>(row);
  return route;
}

}  // namespace tilepost
