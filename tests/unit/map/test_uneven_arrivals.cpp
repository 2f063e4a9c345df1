// ARRIVALS with shares of any length: build_tile_map and arriving_part against a count row by row.
#include <algorithm>
#include <numeric>
#include <random>

#include "runtime/map/steps.h"
#include "tests/catch.h"

namespace tilepost::test {
namespace {

int pick(std::mt19937& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

// One rank of a run: how many rows come from each rank, and cuts made for the rank that receives
// most.
struct Uneven {
  std::vector<int64_t> splits;
  std::vector<int32_t> cuts;
  tilepost_map_t map{};
  int rank = 0;

  explicit Uneven(std::mt19937& random) {
    const int ranks = pick(random, 1, 5);
    rank = pick(random, 0, ranks - 1);
    const int kind = pick(random, 0, 3);
    for (int source = 0; source < ranks; ++source) {
      const bool empty = (kind == 1 && source != rank) || (kind == 2 && source % 2 == 0);
      splits.push_back(empty ? 0 : pick(random, 0, 12));
    }
    if (kind == 3) splits.assign(ranks, pick(random, 0, 12));
    map.m = std::accumulate(splits.begin(), splits.end(), int64_t{0});
    map.n = pick(random, 1, 7);
    map.tile_m = pick(random, 1, 4);
    map.tile_n = pick(random, 1, 4);
    map.cluster = 1 << pick(random, 0, 2);
    map.band = pick(random, 1, 4);
    map.signals_per_tile = 1;
    map.layout = TILEPOST_PANEL;
    map.division = TILEPOST_DIVISION_ARRIVALS;
    map.ranks = ranks;
    map.round_robin = pick(random, 0, 1);
    tilepost_map_t most = map;
    most.m = map.m + pick(random, 1, 20);
    cuts = {0};
    for (int cut = 1; cut < arriving_tiles(most); ++cut)
      if (pick(random, 0, 2) == 0) cuts.push_back(cut);
    cuts.push_back(arriving_tiles(most));
    map.num_groups = static_cast<int32_t>(cuts.size());
    map.cuts = cuts.data();
  }

  // For each row, the group that brings it.
  std::vector<int> groups() const {
    std::vector<int> all;
    for (int source = 0; source < map.ranks; ++source)
      for (int64_t row = 0; row < splits[source]; ++row)
        all.push_back(source == rank ? 0 : brings(source, row / map.tile_m));
    return all;
  }

 private:
  int brings(int source, int64_t tile) const {
    for (int g = 1; g < map.num_groups; ++g) {
      const SharePart part = arriving_part(map, splits, g, source, rank);
      if (part.first <= tile && tile < part.end) return g;
    }
    return -1;
  }
};

}  // namespace

TEST_CASE("uneven arrivals: the groups' parts of a share follow each other to its end") {
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    const Uneven run(random);
    for (int source = 0; source < run.map.ranks; ++source) {
      int64_t end = 0;
      for (int g = 1; g < run.map.num_groups; ++g) {
        const SharePart part = arriving_part(run.map, run.splits, g, source, run.rank);
        if (source == run.rank) continue;
        REQUIRE(part.first == end);
        REQUIRE(part.end >= part.first);
        end = part.end;
      }
      const int64_t tiles = (run.splits[source] + run.map.tile_m - 1) / run.map.tile_m;
      REQUIRE((source == run.rank || end == tiles));
    }
  }
}

TEST_CASE("uneven arrivals: each tile once, in the group that brings the last of its rows") {
  std::mt19937 random(11);
  for (int i = 0; i < 3000; ++i) {
    const Uneven run(random);
    const std::vector<int> groups = run.groups();
    REQUIRE(std::ranges::none_of(groups, [](int group) { return group < 0; }));
    const TileMap map = build_tile_map(run.map, {.rank = run.rank, .splits = run.splits});
    std::vector<int> seen(static_cast<size_t>(tiles_m(run.map)) * tiles_n(run.map), 0);
    for (size_t t = 0; t < map.tiles.size(); ++t) {
      const tilepost_tile_t& tile = map.tiles[t];
      if (tile.row < 0) continue;
      REQUIRE(tile.row == tile.m);
      const int64_t end = std::min<int64_t>(tile.m + run.map.tile_m, run.map.m);
      REQUIRE(tile.group == *std::max_element(groups.begin() + tile.m, groups.begin() + end));
      const size_t index =
          static_cast<size_t>(tile.m / run.map.tile_m) * tiles_n(run.map) + tile.n / run.map.tile_n;
      REQUIRE(map.positions[index] == static_cast<int32_t>(t));
      ++seen[index];
    }
    REQUIRE(std::ranges::all_of(seen, [](int times) { return times == 1; }));
  }
}

// The map of m gathered rows, without cuts.
tilepost_map_t map_of(int64_t m, int ranks, int tile_m, bool round_robin) {
  tilepost_map_t map{};
  map.m = m, map.n = 1, map.tile_m = tile_m, map.tile_n = 1, map.cluster = 1, map.band = 1;
  map.ranks = ranks, map.division = TILEPOST_DIVISION_ARRIVALS;
  map.round_robin = round_robin ? 1 : 0;
  return map;
}

void check_edges(tilepost_map_t map, const std::vector<int32_t>& cuts, int rank) {
  map.num_groups = static_cast<int32_t>(cuts.size()), map.cuts = cuts.data();
  const int64_t k = 5, first = first_row_of_rank(map, rank), rows = rows_of_rank(map, rank);
  if (rows == 0) return;
  const Step own{StepKind::own_rows, rank, 0, first * k, rows * k, 0};
  // For each row: 1 if it is brought for the first group of others' rows that is posted, 2 if for
  // the last one.
  std::vector<int> brought(static_cast<size_t>(map.m), 0);
  const EdgeRows edges = edges_of(map, k, own);
  for (const auto& [steps, when] :
       {std::pair(edges.needed_first(), 1), std::pair(edges.needed_last(), 2)})
    for (const Step& edge : steps) {
      REQUIRE(edge.to - edge.from == first * k);
      REQUIRE((edge.from >= 0 && edge.count > 0 && edge.from + edge.count <= rows * k));
      for (int64_t row = edge.to / k; row < (edge.to + edge.count) / k; ++row)
        brought[static_cast<size_t>(row)] = when;
    }
  const TileMap tiles = build_tile_map(map, {.rank = rank, .splits = {}});
  for (const tilepost_tile_t& tile : tiles.tiles) {
    if (tile.row < 0) continue;
    for (int64_t row = tile.m; row < std::min<int64_t>(tile.m + map.tile_m, map.m); ++row) {
      const int when = brought[static_cast<size_t>(row)];
      const bool needed = tile.group > 0 && row >= first && row < first + rows;
      REQUIRE((when != 0) == needed);
      REQUIRE((when != 2 || tile.group == map.num_groups - 1));
    }
  }
}

// A rank reads its tiles of group 0 where the caller has its rows, and all other tiles where rows
// arrive.
TEST_CASE("edges are the own rows in tiles with rows of other ranks, and in time") {
  for (int ranks = 2; ranks <= 4; ++ranks)
    for (int64_t m = 1; m <= 60; ++m)
      for (const int tile_m : {3, 4, 8, 16})
        for (const bool round_robin : {false, true})
          for (int rank = 0; rank < ranks; ++rank) {
            const tilepost_map_t map = map_of(m, ranks, tile_m, round_robin);
            const int32_t last = arriving_tiles(map);
            check_edges(map, {0, last}, rank);
            for (int32_t cut = 1; cut < last; ++cut) check_edges(map, {0, cut, last}, rank);
          }
}

TEST_CASE("uneven arrivals: shares that are equal make the map of equal shares") {
  std::mt19937 random(13);
  for (int i = 0; i < 1000; ++i) {
    Uneven run(random);
    if (run.map.m == 0) continue;
    std::vector<int64_t> equal;
    for (int rank = 0; rank < run.map.ranks; ++rank) equal.push_back(rows_of_rank(run.map, rank));
    // If the last shares are short, they have fewer tiles than the cuts count.
    if (std::ranges::any_of(equal, [&](int64_t rows) { return rows != equal[0]; })) continue;
    const int32_t last = arriving_tiles(run.map);
    std::erase_if(run.cuts, [&](int32_t cut) { return cut >= last; });
    run.cuts.push_back(last);
    if (run.cuts.front() != 0) run.cuts.insert(run.cuts.begin(), 0);
    run.map.num_groups = static_cast<int32_t>(run.cuts.size());
    run.map.cuts = run.cuts.data();
    const TileMap with = build_tile_map(run.map, {.rank = run.rank, .splits = equal});
    const TileMap without = build_tile_map(run.map, {.rank = run.rank, .splits = {}});
    REQUIRE(hash_tile_map(with) == hash_tile_map(without));
    REQUIRE(with.positions == without.positions);
  }
}

}  // namespace tilepost::test
