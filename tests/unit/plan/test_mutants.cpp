// verify_plan must notice every mutant of a correct plan, by the check that the mutant is made for.
#include <functional>

#include "tests/catch.h"
#include "tests/unit/plan/build_plan.h"

namespace tilepost::test {
namespace {

// Correct plans with different layouts, clusters, edges and sizes. Each has several groups.
std::vector<Plan> make_subjects() {
  std::vector<Plan> plans;
  for (const tilepost_layout_t layout : {TILEPOST_PANEL, TILEPOST_TILE}) {
    const bool panel = layout == TILEPOST_PANEL;
    const auto add = [&](int64_t m, int64_t n, int tile_m, int tile_n, int cluster, int ctas,
                         std::vector<int32_t> panel_cuts, std::vector<int32_t> tile_cuts) {
      SmallPlan small;
      small.m = m, small.n = n, small.tile_m = tile_m, small.tile_n = tile_n;
      small.cluster = cluster, small.band = 2 * cluster, small.signals = 2;
      small.gemm_ctas = ctas, small.layout = layout;
      small.cuts = panel ? panel_cuts : tile_cuts;
      plans.push_back(build_plan(small));
    };
    add(8, 12, 2, 3, 1, 3, {1, 3, 4}, {3, 9, 16});   // whole tiles
    add(9, 13, 2, 3, 2, 4, {2, 4, 5}, {8, 16, 30});  // ragged and padded
    add(70, 33, 16, 16, 4, 4, {4, 5}, {4, 12, 24});  // clusters of 4, three padding tiles
    Spec spec = make_spec(1000, 2000, 1024);
    spec.schedule.layout.value = layout;
    spec.schedule.cluster = wish<int64_t>(2);
    spec.schedule.sms = wish<int64_t>(32);
    spec.schedule.tile = wish(std::vector<int64_t>{128, 128});
    spec.transport.value = TILEPOST_TRANSPORT_NCCL;
    spec.schedule.comm_sms = wish<int64_t>(8);
    spec.schedule.groups = wish(std::vector<int64_t>{2, 2, 2});  // 128 positions on 22 CTAs
    plans.push_back(plan(spec).plans.at(0));
  }
  return plans;
}

// The plans are made once for all mutants. Each mutant changes a copy.
const std::vector<Plan>& subjects() {
  static const std::vector<Plan> plans = make_subjects();
  return plans;
}

// The findings for a mutant. It is hashed again, so that its hash alone does not give it away.
std::string verdict(Plan plan, const std::function<void(Plan&)>& mutate) {
  mutate(plan);
  plan.map_hash = hash_tile_map(plan.tile_map());
  return join(verify_plan(plan));
}

void require_caught(const char* words, const std::function<void(Plan&)>& mutate) {
  for (const Plan& plan : subjects()) {
    const std::string text = verdict(plan, mutate);
    INFO(plan.map.m << "x" << plan.map.n << " " << name_of(plan.map.layout) << ": " << text);
    REQUIRE(!text.empty());
    REQUIRE(text.find(words) != std::string::npos);
  }
}

// The first stored position of group g, or the last one with `last`.
size_t stored(const Plan& plan, size_t g, bool last = false) {
  const tilepost_group_t& group = plan.tile_map().groups[g];
  for (int i = 0; i < group.num_tiles; ++i) {
    const size_t t = group.first_tile + (last ? group.num_tiles - 1 - i : i);
    if (plan.tile_map().tiles[t].row >= 0) return t;
  }
  FAIL("group without stored tile");
  return 0;
}

TEST_CASE("the subjects are correct") {
  for (const Plan& plan : subjects()) {
    REQUIRE(plan.tile_map().groups.size() >= 2);
    REQUIRE(verdict(plan, [](Plan&) {}) == "");
  }
}

TEST_CASE("caught: two tiles of different groups swap their rows") {
  require_caught("group 0", [](Plan& plan) {
    std::swap(plan.own_tile_map().tiles[stored(plan, 0)].row,
              plan.own_tile_map().tiles[stored(plan, 1, true)].row);
  });
}

TEST_CASE("caught: two tile rows of a panel group swap their destinations") {
  for (const Plan& plan : subjects()) {
    if (plan.map.layout != TILEPOST_PANEL) continue;
    const std::string text = verdict(plan, [](Plan& mutant) {
      const tilepost_group_t& group = mutant.own_tile_map().groups[0];
      const size_t other = stored(mutant, 0, true);
      const size_t first = stored(mutant, 0);
      if (mutant.own_tile_map().tiles[first].row == mutant.own_tile_map().tiles[other].row)
        mutant.own_tile_map().tiles[first].row +=
            group.num_tiles;  // one tile row: move it elsewhere
      else
        std::swap(mutant.own_tile_map().tiles[first].row, mutant.own_tile_map().tiles[other].row);
    });
    INFO(text);
    REQUIRE(text.find("of a row-major output") != std::string::npos);
  }
}

TEST_CASE("caught: a tile is dropped") {
  require_caught("is not stored",
                 [](Plan& plan) { plan.own_tile_map().tiles[stored(plan, 1)].row = -1; });
}

TEST_CASE("caught: a tile comes twice, another never") {
  require_caught("comes twice", [](Plan& plan) {
    const size_t a = stored(plan, 0), b = stored(plan, 1);
    plan.own_tile_map().tiles[b].m = plan.own_tile_map().tiles[a].m;
    plan.own_tile_map().tiles[b].n = plan.own_tile_map().tiles[a].n;
  });
}

TEST_CASE("caught: two tiles share a slot") {
  require_caught("group 1", [](Plan& plan) {
    plan.own_tile_map().tiles[stored(plan, 1, true)].row =
        plan.own_tile_map().tiles[stored(plan, 0)].row;
  });
}

TEST_CASE("caught: a tile outside the output is stored") {
  require_caught("is stored at row", [](Plan& plan) {
    tilepost_tile_t tile = {1 << 20, 0, 0,
                            static_cast<int32_t>(plan.own_tile_map().groups.size()) - 1};
    plan.own_tile_map().tiles.back() = tile;
  });
}

TEST_CASE("caught: padding is stored") {
  int padded = 0;
  for (const Plan& plan : subjects()) {
    for (size_t t = 0; t < plan.tile_map().tiles.size(); ++t) {
      if (plan.tile_map().tiles[t].row >= 0) continue;
      ++padded;
      const std::string text =
          verdict(plan, [&](Plan& mutant) { mutant.own_tile_map().tiles[t].row = 0; });
      REQUIRE(text.find("padding tile") != std::string::npos);
    }
  }
  REQUIRE(padded > 0);
}

TEST_CASE("caught: a wrong target") {
  require_caught("waits for", [](Plan& plan) { ++plan.own_tile_map().groups[0].target; });
  require_caught("waits for", [](Plan& plan) { --plan.own_tile_map().groups[1].target; });
  require_caught("waits for", [](Plan& plan) {
    uint32_t& target =
        plan.own_tile_map().groups.back().target;  // as a kernel that signals otherwise would
    target = plan.map.signals_per_tile == 1 ? target * 2 : target / plan.map.signals_per_tile;
  });
}

TEST_CASE("caught: a target that leaves padding out") {
  for (const Plan& plan : subjects()) {
    const tilepost_group_t& last = plan.tile_map().groups.back();
    int padding = 0;
    for (int t = last.first_tile; t < last.first_tile + last.num_tiles; ++t)
      padding += plan.tile_map().tiles[t].row < 0;
    if (padding == 0) continue;
    const std::string text = verdict(plan, [&](Plan& mutant) {
      mutant.own_tile_map().groups.back().target -= padding * mutant.map.signals_per_tile;
    });
    REQUIRE(text.find("waits for") != std::string::npos);
  }
}

TEST_CASE("caught: groups overlap, leave a gap, or end early") {
  require_caught("covers positions",
                 [](Plan& plan) { --plan.own_tile_map().groups[1].first_tile; });
  require_caught("covers positions",
                 [](Plan& plan) { ++plan.own_tile_map().groups[1].first_tile; });
  require_caught("group", [](Plan& plan) { --plan.own_tile_map().groups.back().num_tiles; });
  require_caught("covers positions",
                 [](Plan& plan) { ++plan.own_tile_map().groups.back().num_tiles; });
}

TEST_CASE("caught: a tile raises another group's counter") {
  require_caught("raises the counter of group 0",
                 [](Plan& plan) { plan.own_tile_map().tiles[stored(plan, 1)].group = 0; });
}

TEST_CASE("caught: wrong offset or count") {
  require_caught("group 1", [](Plan& plan) { plan.own_tile_map().groups[1].offset += 1; });
  require_caught("group 1", [](Plan& plan) { plan.own_tile_map().groups[1].offset -= plan.map.n; });
  require_caught("group 0", [](Plan& plan) { plan.own_tile_map().groups[0].count -= plan.map.n; });
  require_caught("group 0", [](Plan& plan) { plan.own_tile_map().groups[0].count += 1; });
  require_caught("the send buffer", [](Plan& plan) { plan.own_tile_map().send_elements += 1; });
  require_caught("group 0", [](Plan& plan) {  // one row goes to the next group
    plan.own_tile_map().groups[0].count -= plan.map.n;
    plan.own_tile_map().groups[1].offset -= plan.map.n;
    plan.own_tile_map().groups[1].count += plan.map.n;
  });
}

TEST_CASE("caught: cluster-mates apart") {
  for (const Plan& plan : subjects()) {
    if (plan.map.cluster == 1) continue;
    const std::string text = verdict(plan, [](Plan& mutant) {
      std::vector<tilepost_tile_t>& tiles = mutant.own_tile_map().tiles;
      size_t other = 1;  // a stored tile of another column changes places with a cluster-mate
      while (tiles[other].n == tiles[0].n || tiles[other].row < 0) ++other;
      std::swap(mutant.own_tile_map().tiles[1], mutant.own_tile_map().tiles[other]);
      for (int32_t& position : mutant.own_tile_map().positions)
        position = position == 1                             ? static_cast<int32_t>(other)
                   : position == static_cast<int32_t>(other) ? 1
                                                             : position;
    });
    INFO(text);
    REQUIRE(text.find("cluster-mates") != std::string::npos);
  }
  require_caught("no whole clusters", [](Plan& plan) {
    plan.map.cluster = 2 * plan.map.cluster + 3;  // divides neither the grid nor the schedule
  });
}

TEST_CASE("caught: the inverse is wrong") {
  require_caught("the inverse says", [](Plan& plan) {
    std::swap(plan.own_tile_map().positions[0], plan.own_tile_map().positions.back());
  });
}

TEST_CASE("caught: cuts, waves and group waves that do not belong to the schedule") {
  require_caught("cut", [](Plan& plan) { move_cut(plan, 0); });
  require_caught("waves", [](Plan& plan) { ++plan.waves; });
  require_caught("waves in all", [](Plan& plan) { ++plan.group_waves[0]; });
}

TEST_CASE("caught: too many CTAs, too much shared memory") {
  require_caught("do not fit on", [](Plan& plan) { plan.comm_ctas = plan.sms; });
  require_caught("do not fit on", [](Plan& plan) { plan.comm_ctas = 0; });
  require_caught("no overlap", [](Plan& plan) { plan.transport = TILEPOST_TRANSPORT_NONE; });
  require_caught("bytes of shared memory, a block", [](Plan& plan) {
    plan.arch = Arch::sm_80;
    plan.kernel.shared_bytes = 166913;
  });
  require_caught("do not fit on an SM", [](Plan& plan) {
    plan.arch = Arch::sm_86;
    // Twice this is a whole SM, which leaves nothing for the driver.
    plan.kernel.shared_bytes = 51200;
    plan.kernel.ctas_per_sm = 2;
  });
}

TEST_CASE("caught: a hash of another schedule") {
  for (Plan plan : subjects()) {
    plan.map_hash ^= 1;
    const std::vector<std::string> wrong = verify_plan(plan);
    REQUIRE(wrong.size() == 1);
    REQUIRE(wrong[0].find("hashes to") != std::string::npos);
  }
}

}  // namespace
}  // namespace tilepost::test
