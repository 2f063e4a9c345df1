// verify_plan against an oracle that follows every element. The plans are correct or have a random
// fault, and both must agree on which are right.
#include <random>

#include "tests/catch.h"
#include "tests/unit/plan/build_plan.h"

namespace tilepost::test {
namespace {

// The group of every element of the send buffer, written one by one as the kernel does.
class Oracle {
 public:
  explicit Oracle(const Plan& plan)
      : plan_(plan),
        group_of_(plan.tile_map().send_elements, -1),
        stored_(plan.map.m * plan.map.n, 0),
        listed_(plan.tile_map().positions.size(), false),
        shares_(row_of(plan).has_shares(plan.access) ? plan.ranks : 1),
        share_((plan.map.m + shares_ - 1) / shares_),
        columns_((plan.map.n + plan.map.tile_n - 1) / plan.map.tile_n) {}

  bool holds() {
    const int positions = static_cast<int>(plan_.tile_map().tiles.size());
    int next = 0;
    for (size_t g = 0; g < plan_.tile_map().groups.size(); ++g) {
      const tilepost_group_t& group = plan_.tile_map().groups[g];
      if (group.first_tile != next || group.num_tiles < (arrivals() ? 0 : 1)) return false;
      next += group.num_tiles;
      if (next > positions) return false;
      const int raised = arrivals() ? 1 : group.num_tiles * plan_.map.signals_per_tile;
      if (group.target != static_cast<uint32_t>(raised)) return false;
      for (int t = group.first_tile; t < next; ++t)
        if (!store(t, static_cast<int>(g))) return false;
    }
    return next == positions && all_stored() && blocks_hold() && mates_hold();
  }

 private:
  bool arrivals() const { return plan_.map.division == TILEPOST_DIVISION_ARRIVALS; }
  bool shares() const { return plan_.map.division == TILEPOST_DIVISION_SHARES; }
  bool panel() const { return plan_.map.layout == TILEPOST_PANEL; }
  int cut(int g) const { return g < 0 ? 0 : plan_.cuts()[g]; }

  bool store(int t, int g) {
    const tilepost_tile_t& tile = plan_.tile_map().tiles[t];
    if (tile.group != g) return false;
    const bool inside = tile.m >= 0 && tile.m < plan_.map.m && tile.n >= 0 && tile.n < plan_.map.n;
    if (inside != (tile.row >= 0)) return false;
    if (!inside) return true;
    const int64_t share_tiles = (share_ + plan_.map.tile_m - 1) / plan_.map.tile_m;
    const int64_t row = shares()
                            ? tile.m / share_ * share_tiles + tile.m % share_ / plan_.map.tile_m
                            : tile.m / plan_.map.tile_m;
    const size_t index = row * columns_ + tile.n / plan_.map.tile_n;
    if (plan_.tile_map().positions[index] != t) return false;
    listed_[index] = true;
    for (int r = 0; r < plan_.map.tile_m; ++r)
      for (int c = 0; c < plan_.map.tile_n; ++c)
        if (!store_element(tile, r, c)) return false;
    return !arrivals() || arrives_last(tile);
  }

  bool store_element(const tilepost_tile_t& tile, int r, int c) {
    const int64_t m = int64_t{tile.m} + r, n = int64_t{tile.n} + c;
    // Rows beyond the share belong to other tiles. In this tile they are padding.
    const int64_t end =
        shares() ? std::min((tile.m / share_ + 1) * share_, plan_.map.m) : plan_.map.m;
    const bool inside = m < end && n < plan_.map.n;
    if (inside) ++stored_[m * plan_.map.n + n];
    if (panel() && (n >= plan_.map.n || (!inside && !shares()))) return true;  // clipped
    const int64_t row = int64_t{tile.row} + r;
    if (inside && !in_place(tile, m, n, row)) return false;
    const int64_t to = panel() ? row * plan_.map.n + n : row * plan_.map.tile_n + c;
    if (to < 0 || to >= plan_.tile_map().send_elements || group_of_[to] >= 0) return false;
    group_of_[to] = tile.group;
    return true;
  }

  // Whether `row` is where the division puts row m of the product. Some divisions allow any place.
  bool in_place(const tilepost_tile_t& tile, int64_t m, int64_t n, int64_t row) const {
    switch (plan_.map.division) {
      case TILEPOST_DIVISION_ROWS:
        return !panel() || row == m;
      case TILEPOST_DIVISION_ARRIVALS:
        return row == m;
      case TILEPOST_DIVISION_COLUMNS:
        return row == n / plan_.map.tile_n *
                              (plan_.tile_map().send_elements / columns_ / plan_.map.tile_n) +
                          m;
      case TILEPOST_DIVISION_SHARES:
        break;
    }
    const int64_t first = int64_t{cut(tile.group - 1)} * plan_.map.tile_m;
    const int64_t part = int64_t{cut(tile.group)} * plan_.map.tile_m - first;
    const int64_t within = m % share_ - first;
    return within >= 0 && within < part && row == first * shares_ + m / share_ * part + within;
  }

  // Whether the tile's group is the one that brings the last of its rows. Rank 0's own rows are
  // there at once. Each other row comes with its chunk.
  bool arrives_last(const tilepost_tile_t& tile) const {
    int last = 0;
    for (int64_t m = tile.m; m < std::min<int64_t>(tile.m + plan_.map.tile_m, plan_.map.m); ++m) {
      int group = 0;
      while (m >= share_ && arrives(m) >= plan_.cuts()[group]) ++group;
      last = std::max(last, group);
    }
    return tile.group == last;
  }

  // On rank 0: the place at which row m of another rank arrives, in the unit of the cuts.
  int64_t arrives(int64_t m) const {
    const int64_t tile_rows = (share_ + plan_.map.tile_m - 1) / plan_.map.tile_m;
    const bool round_robin = plan_.access == TILEPOST_ACCESS_READ;
    return (round_robin ? (m / share_ - 1) * tile_rows : 0) + m % share_ / plan_.map.tile_m;
  }

  bool all_stored() const {
    for (const int times : stored_)
      if (times != 1) return false;
    for (size_t i = 0; i < listed_.size(); ++i)
      if (!listed_[i] && plan_.tile_map().positions[i] != -1) return false;
    return true;
  }

  // Whether every block has exactly the elements of its group, with padding only where the division
  // makes some.
  bool blocks_hold() const {
    const bool pads = shares() || plan_.map.division == TILEPOST_DIVISION_COLUMNS;
    int64_t sent = 0;
    for (size_t g = 0; g < plan_.tile_map().groups.size(); ++g) {
      const tilepost_group_t& group = plan_.tile_map().groups[g];
      if (arrivals()) {
        if (group.offset != 0 || group.count != 0) return false;
        continue;
      }
      if (group.offset < 0 || group.count < 1 ||
          group.offset + group.count > plan_.tile_map().send_elements)
        return false;
      if (group.offset != sent) return false;
      for (int64_t e = group.offset; e < group.offset + group.count; ++e)
        if (group_of_[e] != static_cast<int>(g) && (!pads || group_of_[e] >= 0)) return false;
      sent += group.count;
      if (pads &&
          sent != plan_.tile_map().send_elements * cut(static_cast<int>(g)) / plan_.cuts().back())
        return false;
    }
    return arrivals() || sent == plan_.tile_map().send_elements;
  }

  bool mates_hold() const {
    const std::vector<tilepost_tile_t>& tiles = plan_.tile_map().tiles;
    for (size_t t = 0; t < tiles.size(); ++t) {
      const size_t leader = t / plan_.map.cluster * plan_.map.cluster;
      if (tiles[t].n != tiles[leader].n || tiles[t].group != tiles[leader].group) return false;
    }
    return true;
  }

  const Plan& plan_;
  std::vector<int> group_of_;
  std::vector<int> stored_;
  std::vector<bool> listed_;
  const int shares_;
  const int64_t share_;
  const int64_t columns_;
};

int pick(std::mt19937& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

// Chooses a division at random, with a pattern and a layout that it goes with.
void choose_division(std::mt19937& random, SmallPlan& small) {
  const bool scatters = pick(random, 0, 1) == 1;
  small.division = static_cast<tilepost_division_t>(pick(random, 0, 3));
  small.layout = TILEPOST_PANEL;
  small.ranks = pick(random, 2, 5);
  switch (small.division) {
    case TILEPOST_DIVISION_ROWS:
      small.layout = pick(random, 0, 1) ? TILEPOST_PANEL : TILEPOST_TILE;
      return;
    case TILEPOST_DIVISION_COLUMNS:
      small.layout = TILEPOST_TILE;
      [[fallthrough]];
    case TILEPOST_DIVISION_SHARES:
      small.pattern = scatters ? TILEPOST_GEMM_REDUCE_SCATTER : TILEPOST_GEMM_ALL_TO_ALL;
      if (small.division == TILEPOST_DIVISION_COLUMNS) return;
      small.access = static_cast<tilepost_access_t>(pick(random, 0, 2));
      small.stagger = pick(random, 0, 1) * pick(random, 1, 12);
      if (small.access != TILEPOST_ACCESS_MESSAGES && pick(random, 0, 2) == 0)
        small.pattern = TILEPOST_GEMM_ALL_REDUCE;
      small.pushes = small.pattern == TILEPOST_GEMM_ALL_REDUCE &&
                     small.access == TILEPOST_ACCESS_WRITE && pick(random, 0, 1) == 1;
      return;
    case TILEPOST_DIVISION_ARRIVALS:
      small.pattern = TILEPOST_ALL_GATHER_GEMM;
      small.access = static_cast<tilepost_access_t>(pick(random, 0, 2));
  }
}

SmallPlan random_plan(std::mt19937& random) {
  SmallPlan small;
  small.tile_m = pick(random, 1, 4), small.tile_n = pick(random, 1, 4);
  small.m = pick(random, 1, 20), small.n = pick(random, 1, 14);
  small.cluster = 1 << pick(random, 0, 2);
  small.band = pick(random, 1, 6);
  small.signals = pick(random, 1, 2);
  small.gemm_ctas = small.cluster;
  choose_division(random, small);
  const auto tiles = [](int64_t size, int tile) {
    return static_cast<int>((size + tile - 1) / tile);
  };
  const int rows = tiles(small.m, small.tile_m), columns = tiles(small.n, small.tile_n);
  const int clusters = tiles(rows, small.cluster);
  int units = clusters * columns, step = small.cluster, end = units * step;
  if (small.division == TILEPOST_DIVISION_COLUMNS) {
    units = end = columns, step = 1;
  } else if (small.division != TILEPOST_DIVISION_ROWS) {
    units = end = tiles((small.m + small.ranks - 1) / small.ranks, small.tile_m), step = 1;
    if (small.division == TILEPOST_DIVISION_ARRIVALS && small.access == TILEPOST_ACCESS_READ)
      units = end *= small.ranks - 1;
  } else if (small.layout == TILEPOST_PANEL) {
    units = clusters, end = rows;
  }
  if (small.division == TILEPOST_DIVISION_ARRIVALS) small.cuts.push_back(0);
  for (int unit = 1; unit < units; ++unit)
    if (pick(random, 0, 2) == 0) small.cuts.push_back(unit * step);
  small.cuts.push_back(end);
  return small;
}

// Makes one random change. By chance it may change nothing that matters.
void corrupt(std::mt19937& random, Plan& plan) {
  TileMap& map = plan.own_tile_map();
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
      map.tiles[position()].m += step * (pick(random, 0, 1) ? plan.map.tile_m : 1);
      break;
    case 3:
      map.tiles[position()].n += step * (pick(random, 0, 1) ? plan.map.tile_n : 1);
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

TEST_CASE("offsets need 64 bits and have them") {
  SmallPlan small;
  small.m = 1 << 17, small.n = 1 << 17;
  small.tile_m = 256, small.tile_n = 256;
  small.gemm_ctas = 128, small.cluster = 2, small.band = 8;
  small.cuts = {256, 512};
  const Plan p = build_plan(small);
  REQUIRE(p.tile_map().groups[1].offset == int64_t{1} << 33);
  REQUIRE(verify_plan(p).empty());
}

}  // namespace
}  // namespace tilepost::test
