// Every small plan: tile counts, ragged edges, tile sizes, clusters, bands, layouts, ranks and all
// ways to cut the schedule into groups. Each plan is built with build_tile_map and checked by
// verify_plan, which shares no code with it.
#include <cstdio>
#include <ctime>

#include "tests/catch.h"
#include "tests/unit/plan/build_plan.h"

namespace tilepost::test {
namespace {

constexpr int64_t kLeastPlans = 100000;
constexpr double kMostSeconds = 60;  // on one core

class Sweep {
 public:
  int64_t plans() const { return plans_; }

  // Checks all group compositions of `small`. Bit i of the mask ends a group after unit i + 1.
  void all_cuts(SmallPlan small, int units, int unit_positions, int last_cut) {
    for (unsigned mask = 0; mask < 1u << (units - 1); ++mask) {
      small.cuts.clear();
      for (int unit = 1; unit < units; ++unit)
        if (mask >> (unit - 1) & 1) small.cuts.push_back(unit * unit_positions);
      small.cuts.push_back(last_cut);
      small.ranks = 2 + static_cast<int>(plans_ % 7);
      check(small);
    }
  }

 private:
  void check(const SmallPlan& small) {
    build_plan(small, plan_);
    ++plans_;
    const std::vector<std::string> wrong = verify_plan(plan_);
    if (wrong.empty()) return;
    FAIL(small.m << "x" << small.n << " tile " << small.tile_m << "x" << small.tile_n << " cluster "
                 << small.cluster << " band " << small.band << " " << name_of(small.layout) << " "
                 << small.cuts.size() << " groups: " << wrong.front());
  }

  Plan plan_;
  int64_t plans_ = 0;
};

void sweep_panels(Sweep& sweep, SmallPlan small, int rows) {
  small.layout = TILEPOST_PANEL;
  const int clusters = (rows + small.cluster - 1) / small.cluster;
  small.gemm_ctas = small.cluster;
  sweep.all_cuts(small, clusters, small.cluster, rows);
}

void sweep_slots(Sweep& sweep, SmallPlan small, int rows, int columns) {
  small.layout = TILEPOST_TILE;
  const int clusters = (rows + small.cluster - 1) / small.cluster * columns;
  // Tries grids of every size that makes at most 8 waves.
  for (int grid = (clusters + 7) / 8; grid <= clusters; ++grid) {
    small.gemm_ctas = grid * small.cluster;
    sweep.all_cuts(small, (clusters + grid - 1) / grid, small.gemm_ctas, clusters * small.cluster);
  }
}

TEST_CASE("every small plan is right") {
  const std::clock_t begin = std::clock();
  Sweep sweep;
  SmallPlan small;
  constexpr int kTiles[][2] = {{1, 1}, {1, 3}, {2, 3}, {4, 2}, {5, 4}};
  for (int rows = 1; rows <= 9; ++rows)
    for (int columns = 1; columns <= 6; ++columns)
      for (const auto& tile : kTiles)
        for (const int ragged_m : {0, 1})
          for (const int ragged_n : {0, 1})
            for (const int cluster : {1, 2, 4})
              for (const int band : {1, 2, 3, 4, 16}) {
                if ((ragged_m && tile[0] == 1) || (ragged_n && tile[1] == 1)) continue;
                small.tile_m = tile[0], small.tile_n = tile[1];
                small.m = rows * tile[0] - (ragged_m ? tile[0] - 1 : 0);
                small.n = columns * tile[1] - (ragged_n ? 1 : 0);
                small.cluster = cluster, small.band = band;
                small.signals = 1 + (rows + columns) % 2;
                sweep_panels(sweep, small, rows);
                sweep_slots(sweep, small, rows, columns);
              }
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::printf("%lld plans verified in %.1f s\n", static_cast<long long>(sweep.plans()), seconds);
  REQUIRE(sweep.plans() >= kLeastPlans);
  REQUIRE(seconds < kMostSeconds);
}

}  // namespace
}  // namespace tilepost::test
