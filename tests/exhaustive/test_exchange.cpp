// Every pattern, division and route on small problems. Each is played element by element (world.h),
// and each plan among them is verified.
#include <cstdio>
#include <ctime>
#include <functional>
#include <random>

#include "tests/catch.h"
#include "tests/exhaustive/world.h"
#include "tests/unit/plan/build_plan.h"

namespace tilepost::test {
namespace {

constexpr int64_t kLeastWorlds = 200000, kLeastWrittenWorlds = 120000;
constexpr double kMostSeconds = 20;  // on one core
// The most ways to cut one problem. Plans with routed rows of A take longest to verify, so they
// have fewer.
constexpr unsigned kMostMasks = 8, kMostRoutedMasks = 3;

int ceil_div(int64_t a, int64_t b) {
  return static_cast<int>((a + b - 1) / b);
}

Plan plan_of(const World& world) {
  SmallPlan small;
  small.m = world.most_rows(), small.n = world.n;
  small.tile_m = world.tile_m, small.tile_n = world.tile_n;
  small.cluster = world.cluster, small.band = world.band, small.gemm_ctas = world.cluster;
  small.ranks = world.ranks;
  small.layout = world.layout == TILEPOST_PANEL ? TILEPOST_PANEL : TILEPOST_TILE;
  small.cuts = world.cuts;
  small.pattern = static_cast<tilepost_pattern_t>(world.pattern);
  small.routing = static_cast<tilepost_routing_t>(world.routing);
  small.division = static_cast<tilepost_division_t>(world.division);
  small.overlaps = world.overlaps;
  small.access = world.access;
  small.stagger = world.stagger;
  small.pushes = world.pushes;
  if (world.row().input_is_routed()) small.rows_sent = world.m;
  return build_plan(small);
}

class Sweep {
 public:
  int64_t worlds() const { return worlds_; }

  // Plays one problem with all patterns.
  void problem(World world) {
    world.pattern = TILEPOST_GEMM_ALL_REDUCE;
    divide(world, TILEPOST_PANEL, TILEPOST_DIVISION_ROWS, true);
    divide(world, TILEPOST_TILE, TILEPOST_DIVISION_ROWS, true);
    world.pattern = TILEPOST_GEMM_REDUCE_SCATTER;
    send(world);
    world.pattern = TILEPOST_GEMM_ALL_TO_ALL;
    for (const tilepost_routing_t routing :
         {TILEPOST_ROUTING_EVEN, TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS}) {
      world.routing = routing;
      send(world);
    }
    world.routing = TILEPOST_ROUTING_EVEN;
    world.pattern = TILEPOST_ALL_GATHER_GEMM;
    if (world.ranks > 1) divide(world, TILEPOST_PANEL, TILEPOST_DIVISION_ARRIVALS, true);
    divide(world, TILEPOST_PANEL, TILEPOST_DIVISION_ROWS, false);
    world.pattern = TILEPOST_ALL_TO_ALL_GEMM;
    for (const tilepost_routing_t routing :
         {TILEPOST_ROUTING_EVEN, TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS}) {
      world.routing = routing;
      if (world.ranks > 1) divide(world, TILEPOST_PANEL, TILEPOST_DIVISION_ARRIVALS, true);
      divide(world, TILEPOST_PANEL, TILEPOST_DIVISION_ROWS, false);
    }
  }

  // Plays a problem by patterns in which ranks read each other's memory.
  void reading_problem(World world) {
    world.access = TILEPOST_ACCESS_READ;
    staggered(world);
    world.pattern = TILEPOST_GEMM_ALL_TO_ALL;
    for (const int stagger : {0, 2 * world.cluster}) {
      world.routing = TILEPOST_ROUTING_SPLITS, world.stagger = stagger;
      divide(world, TILEPOST_PANEL, TILEPOST_DIVISION_SHARES, true);
    }
    world.routing = TILEPOST_ROUTING_ROWS, world.stagger = 0;
    divide(world, TILEPOST_PANEL, TILEPOST_DIVISION_ROWS, true);
    world.routing = TILEPOST_ROUTING_EVEN;
    gathered(world);
    if (world.ranks == 1) return;
    world.pushes = true, world.pattern = TILEPOST_ALL_TO_ALL_GEMM;
    for (const tilepost_routing_t routing : {TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS}) {
      world.routing = routing;
      divide(world, TILEPOST_PANEL, TILEPOST_DIVISION_ARRIVALS, true);
    }
  }

  // Plays a problem by patterns in which ranks write each other's memory.
  void writing_problem(World world) {
    world.access = TILEPOST_ACCESS_WRITE;
    staggered(world);
    gathered(world);
  }

 private:
  void staggered(World world) {
    for (const int stagger : {0, world.cluster, 3 * world.cluster}) {
      world.stagger = stagger;
      for (const tilepost_pattern_t pattern :
           {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_GEMM_ALL_TO_ALL}) {
        world.pattern = pattern;
        divide(world, TILEPOST_PANEL, TILEPOST_DIVISION_SHARES, true);
      }
      if (world.access == TILEPOST_ACCESS_READ) continue;
      world.pattern = TILEPOST_GEMM_ALL_REDUCE, world.pushes = true;
      divide(world, TILEPOST_PANEL, TILEPOST_DIVISION_SHARES, true);
      world.pushes = false;
    }
  }

  void gathered(World world) {
    if (world.ranks == 1) return;
    world.stagger = 0, world.pushes = true;
    for (const tilepost_pattern_t pattern : {TILEPOST_ALL_GATHER_GEMM, TILEPOST_ALL_TO_ALL_GEMM}) {
      world.pattern = pattern;
      divide(world, TILEPOST_PANEL, TILEPOST_DIVISION_ARRIVALS, true);
    }
  }

  void send(World world) {
    const bool rows = world.routing == TILEPOST_ROUTING_ROWS;
    divide(world, TILEPOST_PANEL, rows ? TILEPOST_DIVISION_ROWS : TILEPOST_DIVISION_SHARES, true);
    divide(world, TILEPOST_PANEL, TILEPOST_DIVISION_ROWS, false);
    divide(world, TILEPOST_TILE, TILEPOST_DIVISION_COLUMNS, true);
    divide(world, TILEPOST_TILE, TILEPOST_DIVISION_COLUMNS, false);
  }

  // Where groups may end: after each of `units` units, at multiples of `step`. The last one ends at
  // `end`.
  struct Cuttable {
    int units, step, end;
  };
  static Cuttable cuttable(const World& world) {
    const int rows = ceil_div(world.most_rows(), world.tile_m),
              columns = ceil_div(world.n, world.tile_n);
    const int clusters = ceil_div(rows, world.cluster),
              share = ceil_div(world.share(), world.tile_m);
    switch (world.division) {
      case TILEPOST_DIVISION_SHARES:
        return {share, 1, share};
      case TILEPOST_DIVISION_ARRIVALS: {
        const int all = arriving_tiles(world.map());
        return {all, 1, all};
      }
      case TILEPOST_DIVISION_COLUMNS:
        return {columns, 1, columns};
      case TILEPOST_DIVISION_ROWS:
        break;
    }
    if (world.layout == TILEPOST_PANEL) return {clusters, world.cluster, rows};
    return {clusters * columns, world.cluster, clusters * columns * world.cluster};
  }

  // Plays all group compositions, or some if there are many. Bit i of the mask ends a group after
  // unit i + 1.
  void divide(World& world, tilepost_layout_t layout, tilepost_division_t division, bool overlaps) {
    world.layout = layout, world.division = division, world.overlaps = overlaps;
    const Cuttable cut = cuttable(world);
    const unsigned masks = overlaps ? 1u << std::min(cut.units - 1, 20) : 1;
    const unsigned most = world.row().input_is_routed() ? kMostRoutedMasks : kMostMasks;
    for (unsigned i = 0; i < std::min(masks, most); ++i) {
      const unsigned mask = masks <= most ? i : random_() % masks;
      world.cuts.clear();
      if (division == TILEPOST_DIVISION_ARRIVALS) world.cuts.push_back(0);
      for (int unit = 1; unit < cut.units; ++unit)
        if (mask >> (unit - 1) & 1) world.cuts.push_back(unit * cut.step);
      world.cuts.push_back(cut.end);
      check(world);
    }
  }

  void check(World& world) {
    if (!cuts_are_valid(world.map())) FAIL(describe(world) << ": cuts are not valid");
    const std::vector<std::string> found = verify_plan(plan_of(world));
    if (!found.empty()) FAIL(describe(world) << ": " << found.front());
    if (world.routing == TILEPOST_ROUTING_EVEN) return run(world);
    for (int kind = 0; kind < 3; ++kind) {
      route(world, kind);
      run(world);
    }
    world.splits.clear(), world.destinations.clear();
  }

  void run(const World& world) {
    ++worlds_;
    const std::string wrong = play(world);
    if (!wrong.empty()) FAIL(describe(world) << ": " << wrong);
  }

  int64_t below(int64_t bound) { return static_cast<int64_t>(random_() % bound); }

  // Kind 0: every rank has all rows and sends them to random ranks. Kind 1: all rows go to one
  // rank, or each rank's rows to itself. Kind 2: ranks have fewer rows, some have none, and some
  // get nothing.
  void route(World& world, int kind) {
    world.splits.clear(), world.destinations.clear();
    const int only = below(2) ? static_cast<int>(below(world.ranks)) : -1;
    for (int rank = 0; rank < world.ranks; ++rank) {
      const int64_t rows = kind < 2 ? world.m : below(world.m + 1);
      const int targets = kind == 2 ? 1 + static_cast<int>(below(world.ranks)) : world.ranks;
      std::vector<int32_t> destinations;
      for (int64_t row = 0; row < rows; ++row)
        destinations.push_back(
            static_cast<int32_t>(kind == 1 ? (only < 0 ? rank : only) : below(targets)));
      if (world.routing == TILEPOST_ROUTING_ROWS) {
        world.destinations.push_back(std::move(destinations));
        continue;
      }
      world.splits.emplace_back(world.ranks, 0);
      for (const int32_t destination : destinations) ++world.splits.back()[destination];
    }
  }

  std::mt19937 random_{1};
  int64_t worlds_ = 0;
};

// Plays every small problem.
void for_problems(const std::function<void(World&)>& play) {
  World world;
  constexpr int kTiles[][2] = {{1, 1}, {2, 3}, {4, 2}, {5, 5}};
  for (const int ranks : {1, 2, 3, 4, 8})
    for (const int64_t m : {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 25, 33})
      for (const int64_t n : {1, 4, 6, 9})
        for (const auto& tile : kTiles)
          for (const int cluster : {1, 2, 4}) {
            world.ranks = ranks, world.m = m, world.n = n;
            world.tile_m = tile[0], world.tile_n = tile[1];
            world.cluster = cluster, world.band = 1 + static_cast<int>(m + n) % 4;
            play(world);
          }
}

void require_worlds(const char* what, const Sweep& sweep, std::clock_t begin,
                    int64_t least = kLeastWorlds) {
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::printf("%lld worlds %s in %.1f s\n", static_cast<long long>(sweep.worlds()), what, seconds);
  REQUIRE(sweep.worlds() >= least);
  REQUIRE(seconds < kMostSeconds);
}

TEST_CASE("every pattern, division and route moves every element to its place") {
  const std::clock_t begin = std::clock();
  Sweep sweep;
  for_problems([&](World& world) { sweep.problem(world); });
  require_worlds("played", sweep, begin);
}

TEST_CASE("and so do ranks that read each other's memory, in any order of tiles") {
  const std::clock_t begin = std::clock();
  Sweep sweep;
  for_problems([&](World& world) { sweep.reading_problem(world); });
  require_worlds("that read shared memory played", sweep, begin);
}

TEST_CASE("and so do ranks that write each other's memory, in any order of tiles") {
  const std::clock_t begin = std::clock();
  Sweep sweep;
  for_problems([&](World& world) { sweep.writing_problem(world); });
  require_worlds("that write shared memory played", sweep, begin, kLeastWrittenWorlds);
}

}  // namespace
}  // namespace tilepost::test
