// The dynamic programme against all compositions, and cut points against their definition.
#include <algorithm>
#include <limits>
#include <random>

#include "generator/plan/cuts.h"
#include "tests/catch.h"

namespace tilepost {
namespace {

struct Case {
  std::vector<double> ready;
  std::vector<std::vector<double>> cost;  // [before + 1][end]

  double operator()(int before, int end) const { return cost[before + 1][end]; }
};

// Costs of no particular form: the programme may assume nothing of them.
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

// Bit i of `mask`: a group ends at point i; one always ends at the last point.
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
      const CutChoice choice = fewest_cuts(c.ready, c, deadline);
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

TileCover cover_of(int64_t m, int64_t n, int tile_m, int tile_n, int cluster, OutputLayout layout) {
  return {m, n, tile_m, tile_n, cluster, layout};
}

TEST_CASE("panel cut points are rows that are complete when their wave ends") {
  for (const int cluster : {1, 2, 4}) {
    for (int ctas = cluster; ctas <= 24; ctas += cluster) {
      const TileCover cover = cover_of(1000, 700, 64, 128, cluster, OutputLayout::panel);
      const std::vector<CutPoint> points = cut_points(cover, ctas);
      REQUIRE(points.back().cut == cover.tiles_m());
      REQUIRE(points.back().wave == cover.waves(ctas));
      REQUIRE(points.back().elements == cover.m * cover.n);
      for (size_t i = 0; i + 1 < points.size(); ++i) {
        REQUIRE(points[i].cut % cluster == 0);
        REQUIRE(points[i].cut < points[i + 1].cut);
        REQUIRE(points[i].positions <= int64_t{points[i].wave} * ctas);
        REQUIRE(points[i].positions + cluster * cover.tiles_n() > int64_t{points[i].wave} * ctas);
      }
    }
  }
}

TEST_CASE("thinned cut points keep the ends") {
  const TileCover cover = cover_of(100000, 64, 1, 64, 1, OutputLayout::tile);
  const std::vector<CutPoint> points = cut_points(cover, 10, 128);
  REQUIRE(points.size() <= 128 + 16);
  REQUIRE(points.front().wave == 1);
  REQUIRE(points[1].wave == 2);
  REQUIRE(points.back().positions == cover.positions());
}

TEST_CASE("explicit waves become increasing cuts, however few rows a wave has") {
  for (const int cluster : {1, 2}) {
    const TileCover cover = cover_of(640, 4096, 64, 64, cluster, OutputLayout::panel);
    const int ctas = 16;  // a quarter of a tile row
    const int waves = static_cast<int>(cover.waves(ctas));
    const int groups = static_cast<int>(cover.max_groups(ctas));
    std::vector<int> group_waves(groups, 1);
    group_waves.back() = waves - (groups - 1);
    const std::vector<int32_t> cuts = cuts_of_waves(cover, ctas, group_waves);
    REQUIRE(cuts.front() == cluster);
    REQUIRE(cuts.back() == cover.tiles_m());
    for (size_t i = 1; i < cuts.size(); ++i) REQUIRE(cuts[i] > cuts[i - 1]);
  }
}

TEST_CASE("tile layout cuts at whole waves") {
  const TileCover cover = cover_of(640, 640, 64, 64, 1, OutputLayout::tile);
  REQUIRE(cuts_of_waves(cover, 12, {1, 3, 5}) == std::vector<int32_t>{12, 48, 100});
}

}  // namespace
}  // namespace tilepost
