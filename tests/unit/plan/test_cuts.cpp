// The dynamic programme against all ways to cut, and cut points against their definition.
#include <algorithm>
#include <limits>
#include <random>

#include "generator/plan/choose/candidates.h"
#include "runtime/map/cut_points.h"
#include "runtime/schedule/cuts.h"
#include "tests/catch.h"

namespace tilepost {
namespace {

struct Case {
  std::vector<double> ready;
  std::vector<std::vector<double>> cost;  // [before + 1][end]

  double operator()(int before, int end) const { return cost[before + 1][end]; }
};

// Costs without any structure, because the programme may assume none.
Case random_case(std::mt19937& random, int points) {
  std::uniform_real_distribution<double> step(0.1, 10), any(0.1, 20);
  Case result;
  for (double time = 0; static_cast<int>(result.ready.size()) < points;)
    result.ready.push_back(time += step(random));
  result.cost.assign(points + 1, std::vector<double>(points));
  for (auto& row : result.cost)
    for (double& cost : row) cost = any(random);
  return result;
}

// The time of a run whose groups end at the points with a bit in `mask`, and at the last point.
double run(const Case& c, unsigned mask) {
  const int points = static_cast<int>(c.ready.size());
  double end = 0;
  int before = -1;
  for (int i = 0; i < points; ++i) {
    if (i + 1 < points && !(mask >> i & 1)) continue;
    end = std::max(end, c.ready[i]) + c(before, i);
    before = i;
  }
  return end;
}

double run(const Case& c, const CutChoice& choice) {
  unsigned mask = 0;
  for (const int end : choice.ends) mask |= 1u << end;
  return run(c, mask);
}

TEST_CASE("best_cuts is the best of all compositions") {
  std::mt19937 random(7);
  for (int points = 1; points <= 11; ++points) {
    for (int repeat = 0; repeat < 60; ++repeat) {
      const Case c = random_case(random, points);
      double best = std::numeric_limits<double>::infinity();
      for (unsigned mask = 0; mask < 1u << (points - 1); ++mask)
        best = std::min(best, run(c, mask));
      const CutChoice choice = best_cuts(c.ready, c);
      REQUIRE(choice.ends.back() == points - 1);
      REQUIRE(std::is_sorted(choice.ends.begin(), choice.ends.end()));
      REQUIRE(choice.end == best);
      REQUIRE(run(c, choice) == best);
    }
  }
}

TEST_CASE("fewest_cuts has the fewest groups that meet the deadline, and of those the best") {
  std::mt19937 random(11);
  for (int points = 1; points <= 9; ++points) {
    for (int repeat = 0; repeat < 60; ++repeat) {
      const Case c = random_case(random, points);
      const double deadline = best_cuts(c.ready, c).end * (repeat % 3 == 0 ? 1.0 : 1.2);
      int fewest = points + 1;
      double best = 0;
      for (unsigned mask = 0; mask < 1u << (points - 1); ++mask) {
        const int groups = 1 + __builtin_popcount(mask);
        const double end = run(c, mask);
        if (end > deadline || groups > fewest) continue;
        best = groups < fewest ? end : std::min(best, end);
        fewest = groups;
      }
      const CutChoice choice = fewest_cuts(c.ready, c, deadline, points);
      REQUIRE(static_cast<int>(choice.ends.size()) == fewest);
      REQUIRE(choice.end == best);
      REQUIRE(run(c, choice) == best);
    }
  }
}

TEST_CASE("one large collective is cheapest when each costs a fixed time and all is ready") {
  const std::vector<double> ready(8, 0.0);
  const CutChoice choice =
      best_cuts(ready, [](int before, int end) { return 20.0 + (end - before); });
  REQUIRE(choice.ends == std::vector<int>{7});
}

TEST_CASE("fewest_cuts has no more groups than it may, and the best of those") {
  std::mt19937 random(13);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const int points = 2 + repeat % 8;
    const Case c = random_case(random, points);
    for (int most = 1; most <= points; ++most) {
      double best = std::numeric_limits<double>::infinity();
      for (unsigned mask = 0; mask < 1u << (points - 1); ++mask)
        if (1 + __builtin_popcount(mask) <= most) best = std::min(best, run(c, mask));
      const CutChoice choice = fewest_cuts(c.ready, c, 0, most);  // no choice meets this deadline
      REQUIRE(static_cast<int>(choice.ends.size()) <= most);
      REQUIRE(choice.end == best);
      REQUIRE(run(c, choice) == best);
    }
  }
}

tilepost_map_t recipe(int64_t m, int64_t n, int tile_m, int tile_n, int cluster,
                      tilepost_division_t division, tilepost_layout_t layout = TILEPOST_PANEL,
                      int ranks = 1) {
  tilepost_map_t map = {};
  map.m = m;
  map.n = n;
  map.tile_m = tile_m;
  map.tile_n = tile_n;
  map.cluster = cluster;
  map.band = cluster;
  map.signals_per_tile = 1;
  map.layout = layout;
  map.division = division;
  map.ranks = ranks;
  return map;
}

tilepost_map_t with_cuts(tilepost_map_t map, const std::vector<int32_t>& cuts) {
  map.num_groups = static_cast<int32_t>(cuts.size());
  map.cuts = cuts.data();
  return map;
}

TEST_CASE("panel cut points are rows that are complete when their wave ends") {
  for (const int cluster : {1, 2, 4}) {
    for (int ctas = cluster; ctas <= 24; ctas += cluster) {
      const tilepost_map_t map = recipe(1000, 700, 64, 128, cluster, TILEPOST_DIVISION_ROWS);
      const std::vector<CutPoint> points = cut_points(map, ctas);
      REQUIRE(points.back().cut == tiles_m(map));
      REQUIRE(points.back().wave == schedule_waves(map, ctas));
      REQUIRE(points.back().elements == map.m * map.n);
      for (size_t i = 0; i + 1 < points.size(); ++i) {
        REQUIRE(points[i].cut % cluster == 0);
        REQUIRE(points[i].cut < points[i + 1].cut);
        REQUIRE(points[i].positions <= int64_t{points[i].wave} * ctas);
        REQUIRE(points[i].positions + cluster * tiles_n(map) > int64_t{points[i].wave} * ctas);
      }
    }
  }
}

TEST_CASE("thinned cut points keep the ends") {
  const tilepost_map_t map = recipe(100000, 64, 1, 64, 1, TILEPOST_DIVISION_ROWS, TILEPOST_TILE);
  const std::vector<CutPoint> points = cut_points(map, 10, 128);
  REQUIRE(points.size() <= 128 + 16);
  REQUIRE(points.front().wave == 1);
  REQUIRE(points[1].wave == 2);
  REQUIRE(points.back().positions == schedule_positions(map));
}

// Positions and elements before a cut, against the map that is cut there.
TEST_CASE("cut points count what the map has") {
  int points_seen = 0;
  for (const int ranks : {1, 2, 3, 4, 8})
    for (const int64_t m : {1, 5, 40, 63, 64, 200})
      for (const int cluster : {1, 2})
        for (const auto& [division, layout] :
             {std::pair(TILEPOST_DIVISION_ROWS, TILEPOST_PANEL),
              std::pair(TILEPOST_DIVISION_ROWS, TILEPOST_TILE),
              std::pair(TILEPOST_DIVISION_SHARES, TILEPOST_PANEL),
              std::pair(TILEPOST_DIVISION_COLUMNS, TILEPOST_TILE)}) {
          const tilepost_map_t map = recipe(m, 50, 8, 16, cluster, division, layout, ranks);
          for (const CutPoint& point : cut_points(map, 4 * cluster)) {
            const std::vector<CutPoint> all = cut_points(map, 4 * cluster);
            std::vector<int32_t> cuts = {point.cut};
            if (point.cut != all.back().cut) cuts.push_back(all.back().cut);
            const TileMap built = build_tile_map(with_cuts(map, cuts));
            INFO(ranks << " ranks, " << m << " rows, cluster " << cluster << ", division "
                       << division << ", cut " << point.cut);
            REQUIRE(cuts_are_valid(with_cuts(map, cuts)));
            REQUIRE(built.groups[0].num_tiles == point.positions);
            const int64_t off = layout == TILEPOST_TILE && division == TILEPOST_DIVISION_ROWS
                                    ? cluster * 8 * 16 * tiles_n(map)
                                    : 0;
            REQUIRE(std::abs(built.groups[0].count - point.elements) <= off);
            REQUIRE(complete_units(map, point.positions) >= units_before(map, point.cut));
            ++points_seen;
          }
        }
  REQUIRE(points_seen > 500);
}

TEST_CASE("cut points of arrivals count clusters that the last chunk and the own share fill up") {
  int points_seen = 0;
  for (const int ranks : {2, 3, 4, 8})
    for (const int64_t tiles : {1, 2, 3, 7, 8})  // tiles in a share
      for (const int cluster : {1, 2, 4}) {
        const tilepost_map_t map = recipe(ranks * tiles * 8, 50, 8, 16, cluster,
                                          TILEPOST_DIVISION_ARRIVALS, TILEPOST_PANEL, ranks);
        const std::vector<CutPoint> all = cut_points(map, 4 * cluster);
        for (const CutPoint& point : all) {
          std::vector<int32_t> cuts = {0, point.cut};
          if (point.cut != all.back().cut) cuts.push_back(all.back().cut);
          const TileMap built = build_tile_map(with_cuts(map, cuts));
          INFO(ranks << " ranks, " << tiles << " tile rows each, cluster " << cluster << ", cut "
                     << point.cut);
          REQUIRE(built.groups[0].num_tiles + built.groups[1].num_tiles == point.positions);
          REQUIRE(static_cast<int64_t>(built.tiles.size()) == all.back().positions);
          ++points_seen;
        }
      }
  REQUIRE(points_seen > 100);
}

TEST_CASE("explicit waves become increasing cuts, however few rows a wave has") {
  for (const int cluster : {1, 2}) {
    const tilepost_map_t map = recipe(640, 4096, 64, 64, cluster, TILEPOST_DIVISION_ROWS);
    const int ctas = 16;  // a quarter of a tile row
    const int waves = static_cast<int>(schedule_waves(map, ctas));
    const int groups = static_cast<int>(max_groups(map, ctas));
    std::vector<int> group_waves(groups, 1);
    group_waves.back() = waves - (groups - 1);
    const std::vector<int32_t> cuts = cuts_of_waves(map, ctas, group_waves);
    REQUIRE(cuts.front() == cluster);
    REQUIRE(cuts.back() == tiles_m(map));
    for (size_t i = 1; i < cuts.size(); ++i) REQUIRE(cuts[i] > cuts[i - 1]);
  }
}

TEST_CASE("tile layout cuts at whole waves") {
  const tilepost_map_t map = recipe(640, 640, 64, 64, 1, TILEPOST_DIVISION_ROWS, TILEPOST_TILE);
  REQUIRE(cuts_of_waves(map, 12, {1, 3, 5}) == std::vector<int32_t>{12, 48, 100});
}

TEST_CASE("chunks of arrivals have the sizes asked for, at least a tile row each") {
  const tilepost_map_t map =
      recipe(6400, 640, 64, 64, 1, TILEPOST_DIVISION_ARRIVALS, TILEPOST_PANEL, 4);  // 25 tile rows
  REQUIRE(cuts_of_chunks(map, {1}) == std::vector<int32_t>{0, 25});
  REQUIRE(cuts_of_chunks(map, {1, 1, 2}) == std::vector<int32_t>{0, 6, 12, 25});
  REQUIRE(cuts_of_chunks(map, {1, 1000, 1}) == std::vector<int32_t>{0, 1, 24, 25});
  const std::vector<int> most(25, 1);
  REQUIRE(max_groups(map, 12) == 25);
  REQUIRE(cuts_of_chunks(map, most).size() == 26);
}

}  // namespace
}  // namespace tilepost
