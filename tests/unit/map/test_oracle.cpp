// verify_plan against an oracle that follows every single element: on correct plans and on plans
// with a random fault, the two must agree on which are right.
#include <random>

#include "tests/catch.h"
#include "tests/unit/plan/build_plan.h"

namespace tilepost::test {
namespace {

// Owner of every element of the send buffer, written one by one as the kernel would.
class Oracle {
 public:
  explicit Oracle(const Plan& plan)
      : plan_(plan), group_of_(plan.map.send_elements, -1), stored_(plan.m * plan.n, 0) {}

  bool holds() {
    const int positions = static_cast<int>(plan_.map.tiles.size());
    int next = 0;
    for (size_t g = 0; g < plan_.map.groups.size(); ++g) {
      const tilepost_group_t& group = plan_.map.groups[g];
      if (group.first_tile != next || group.num_tiles < 1) return false;
      next += group.num_tiles;
      if (next > positions) return false;
      if (group.target != static_cast<uint32_t>(group.num_tiles * plan_.kernel.signals_per_tile))
        return false;
      for (int t = group.first_tile; t < next; ++t)
        if (!store(t, static_cast<int>(g))) return false;
    }
    return next == positions && all_stored() && blocks_hold() && mates_hold();
  }

 private:
  bool store(int t, int g) {
    const tilepost_tile_t& tile = plan_.map.tiles[t];
    const KernelPlan& kernel = plan_.kernel;
    if (tile.group != g) return false;
    const bool inside = tile.m >= 0 && int64_t{tile.m} * kernel.tile_m < plan_.m && tile.n >= 0 &&
                        int64_t{tile.n} * kernel.tile_n < plan_.n;
    if (inside != (tile.row >= 0)) return false;
    if (!inside) return true;
    const int64_t columns = (plan_.n + kernel.tile_n - 1) / kernel.tile_n;
    if (plan_.map.positions[tile.m * columns + tile.n] != t) return false;
    for (int r = 0; r < kernel.tile_m; ++r)
      for (int c = 0; c < kernel.tile_n; ++c)
        if (!store_element(tile, r, c)) return false;
    return true;
  }

  bool store_element(const tilepost_tile_t& tile, int r, int c) {
    const int64_t m = int64_t{tile.m} * plan_.kernel.tile_m + r;
    const int64_t n = int64_t{tile.n} * plan_.kernel.tile_n + c;
    const bool inside = m < plan_.m && n < plan_.n;
    if (inside) ++stored_[m * plan_.n + n];
    int64_t to = (int64_t{tile.row} + r) * plan_.kernel.tile_n + c;
    if (plan_.layout == OutputLayout::panel) {
      if (!inside) return true;  // clipped
      to = (int64_t{tile.row} + r) * plan_.n + n;
      if (to != m * plan_.n + n) return false;
    }
    if (to < 0 || to >= plan_.map.send_elements || group_of_[to] >= 0) return false;
    group_of_[to] = tile.group;
    return true;
  }

  bool all_stored() const {
    for (const int times : stored_)
      if (times != 1) return false;
    return true;
  }

  bool blocks_hold() const {
    int64_t sent = 0;
    for (size_t g = 0; g < plan_.map.groups.size(); ++g) {
      const tilepost_group_t& group = plan_.map.groups[g];
      if (group.offset < 0 || group.count < 1 ||
          group.offset + group.count > plan_.map.send_elements)
        return false;
      for (int64_t e = group.offset; e < group.offset + group.count; ++e)
        if (group_of_[e] != static_cast<int>(g)) return false;
      sent += group.count;
    }
    return sent == plan_.map.send_elements;
  }

  bool mates_hold() const {
    const std::vector<tilepost_tile_t>& tiles = plan_.map.tiles;
    for (size_t t = 0; t < tiles.size(); ++t) {
      const size_t leader = t / plan_.kernel.cluster * plan_.kernel.cluster;
      if (tiles[t].n != tiles[leader].n ||
          tiles[t].m != tiles[leader].m + static_cast<int>(t - leader))
        return false;
    }
    return true;
  }

  const Plan& plan_;
  std::vector<int> group_of_;
  std::vector<int> stored_;
};

int pick(std::mt19937& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

SmallPlan random_plan(std::mt19937& random) {
  SmallPlan small;
  small.tile_m = pick(random, 1, 4), small.tile_n = pick(random, 1, 4);
  small.m = pick(random, 1, 20), small.n = pick(random, 1, 14);
  small.cluster = 1 << pick(random, 0, 2);
  small.band = pick(random, 1, 6);
  small.signals = pick(random, 1, 2);
  small.gemm_ctas = small.cluster;
  small.layout = pick(random, 0, 1) ? OutputLayout::panel : OutputLayout::tile;
  const int rows = static_cast<int>((small.m + small.tile_m - 1) / small.tile_m);
  const int columns = static_cast<int>((small.n + small.tile_n - 1) / small.tile_n);
  const int clusters = (rows + small.cluster - 1) / small.cluster;
  const bool panel = small.layout == OutputLayout::panel;
  const int units = panel ? clusters : clusters * columns;
  for (int unit = 1; unit < units; ++unit)
    if (pick(random, 0, 2) == 0) small.cuts.push_back(unit * small.cluster);
  small.cuts.push_back(panel ? rows : units * small.cluster);
  return small;
}

// One random change, which may by chance change nothing that matters.
void corrupt(std::mt19937& random, Plan& plan) {
  TileMap& map = plan.map;
  const auto position = [&] { return pick(random, 0, static_cast<int>(map.tiles.size()) - 1); };
  const int group = pick(random, 0, static_cast<int>(map.groups.size()) - 1);
  const int step = pick(random, 0, 1) ? 1 : -1;
  switch (pick(random, 0, 11)) {
    case 0:
      std::swap(map.tiles[position()].row, map.tiles[position()].row);
      break;
    case 1:
      map.tiles[position()].row = pick(random, -1, 20);
      break;
    case 2:
      map.tiles[position()].m += step;
      break;
    case 3:
      map.tiles[position()].n += step;
      break;
    case 4:
      map.tiles[position()].group += step;
      break;
    case 5:
      std::swap(map.tiles[position()], map.tiles[position()]);
      break;
    case 6:
      map.groups[group].target += step;
      break;
    case 7:
      map.groups[group].offset += step * pick(random, 1, 12);
      break;
    case 8:
      map.groups[group].count += step * pick(random, 1, 12);
      break;
    case 9:
      map.groups[group].first_tile += step;
      break;
    case 10:
      map.groups[group].num_tiles += step;
      break;
    default: {
      int32_t& inverse = map.positions[pick(random, 0, static_cast<int>(map.positions.size()) - 1)];
      inverse += step;
    }
  }
  plan.map_hash = hash_tile_map(map);
}

TEST_CASE("the oracle and the verifier accept what build_tile_map makes") {
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    const Plan plan = build_plan(random_plan(random));
    const std::vector<std::string> wrong = verify_plan(plan);
    INFO((wrong.empty() ? "" : wrong.front()));
    REQUIRE(Oracle(plan).holds());
    REQUIRE(wrong.empty());
  }
}

TEST_CASE("the oracle and the verifier agree on plans with a random fault") {
  std::mt19937 random(2);
  int right = 0, wrong = 0;
  for (int i = 0; i < 40000; ++i) {
    Plan plan = build_plan(random_plan(random));
    corrupt(random, plan);
    const bool expected = Oracle(plan).holds();
    const std::vector<std::string> found = verify_plan(plan);
    INFO("case " << i << ", oracle " << expected << ": " << (found.empty() ? "" : found.front()));
    REQUIRE(found.empty() == expected);
    ++(expected ? right : wrong);
  }
  REQUIRE(right > 100);
  REQUIRE(wrong > 30000);
}

}  // namespace
}  // namespace tilepost::test
