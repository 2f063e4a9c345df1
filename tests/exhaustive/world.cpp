#include "tests/exhaustive/world.h"

#include <algorithm>
#include <numeric>
#include <sstream>

namespace tilepost::test {

int64_t World::own_rows(int rank) const {
  return std::clamp<int64_t>(m - rank * share(), 0, share());
}

int64_t World::rows(int rank) const {
  if (!destinations.empty()) return static_cast<int64_t>(destinations[rank].size());
  if (splits.empty()) return m;
  return std::accumulate(splits[rank].begin(), splits[rank].end(), int64_t{0});
}

int World::destination(int source, int64_t row) const {
  if (!destinations.empty()) return destinations[source][row];
  if (splits.empty()) return static_cast<int>(row / share());
  int rank = 0;
  for (; row >= splits[source][rank]; ++rank) row -= splits[source][rank];
  return rank;
}

int64_t World::most_rows() const {
  if (!row().input_is_routed()) return m;
  if (most > 0) return most;
  return ranks * (routing == TILEPOST_ROUTING_EVEN ? share() : m);
}

World::Input World::input() const {
  if (row().input_is_routed()) return routed_input();
  Input all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.pieces.emplace_back();
    for (int source = 0; source < ranks; ++source)
      all.pieces[rank].push_back({source * share(), own_rows(source)});
    std::vector<Number>& gathered = all.gathered.emplace_back();
    for (int64_t i = 0; i < m * k; ++i) gathered.push_back(number(0, i / k, i % k));
    const Piece own = all.pieces[rank][rank];
    const auto first = gathered.begin() + std::min(own.first, m) * k;
    all.brought.emplace_back(first, first + own.rows * k);
  }
  return all;
}

// The input where rows of A are routed. With a table, rows are first packed by destination.
World::Input World::routed_input() const {
  Input all;
  all.pieces.assign(ranks, {});
  all.gathered.assign(ranks, {});
  for (int source = 0; source < ranks; ++source) {
    std::vector<std::vector<Number>> sent(ranks);
    for (int64_t row = 0; row < rows(source); ++row)
      for (int64_t i = 0; i < k; ++i)
        sent[destination(source, row)].push_back(number(source, row, i));
    std::vector<Number>& brought = all.brought.emplace_back();
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<Number>& gathered = all.gathered[rank];
      all.pieces[rank].push_back(
          {static_cast<int64_t>(gathered.size()) / k, static_cast<int64_t>(sent[rank].size()) / k});
      gathered.insert(gathered.end(), sent[rank].begin(), sent[rank].end());
      brought.insert(brought.end(), sent[rank].begin(), sent[rank].end());
    }
  }
  return all;
}

tilepost_map_t World::map() const {
  tilepost_map_t map = {};
  map.m = most_rows(), map.n = n;
  map.tile_m = tile_m, map.tile_n = tile_n;
  map.cluster = cluster, map.band = band;
  map.signals_per_tile = 1;
  map.layout = layout, map.division = division;
  map.ranks = has_shares() ? ranks : 1;
  map.stagger = stagger;
  map.round_robin =
      division == TILEPOST_DIVISION_ARRIVALS && access == TILEPOST_ACCESS_READ ? 1 : 0;
  map.num_groups = static_cast<int32_t>(cuts.size());
  map.cuts = cuts.data();
  return map;
}

std::string describe(const World& world) {
  std::ostringstream text;
  text << "pattern " << world.pattern << " routing " << world.routing << " layout " << world.layout
       << " division " << world.division << " ranks " << world.ranks << " " << world.m << "x"
       << world.n << " tile " << world.tile_m << "x" << world.tile_n << " cluster " << world.cluster
       << " band " << world.band << " access " << world.access << " stagger " << world.stagger
       << (world.pushes ? " pushes" : "") << " cuts";
  for (const int32_t cut : world.cuts) text << " " << cut;
  return text.str();
}

}  // namespace tilepost::test
