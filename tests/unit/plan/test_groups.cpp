// Groups of every m: schedule_for against all ways to cut, against the planner for that m, and the
// properties that the runtime relies on.
#include <algorithm>
#include <limits>
#include <random>

#include "generator/plan/choose/candidates.h"
#include "generator/plan/cost/predict.h"
#include "runtime/map/cut_points.h"
#include "runtime/schedule/groups.h"
#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

struct Shape {
  tilepost_pattern_t pattern;
  tilepost_layout_t layout;
  tilepost_routing_t routing;
};

constexpr Shape kShapes[] = {
    {TILEPOST_GEMM, TILEPOST_PANEL, TILEPOST_ROUTING_EVEN},
    {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_PANEL, TILEPOST_ROUTING_EVEN},
    {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TILE, TILEPOST_ROUTING_EVEN},
    {TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_PANEL, TILEPOST_ROUTING_EVEN},
    {TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TILE, TILEPOST_ROUTING_EVEN},
    {TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_PANEL, TILEPOST_ROUTING_EVEN},
    {TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_TILE, TILEPOST_ROUTING_SPLITS},
    {TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_PANEL, TILEPOST_ROUTING_SPLITS},
    {TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_PANEL, TILEPOST_ROUTING_ROWS},
    {TILEPOST_ALL_GATHER_GEMM, TILEPOST_PANEL, TILEPOST_ROUTING_EVEN},
    {TILEPOST_ALL_TO_ALL_GEMM, TILEPOST_PANEL, TILEPOST_ROUTING_EVEN},
    {TILEPOST_ALL_TO_ALL_GEMM, TILEPOST_PANEL, TILEPOST_ROUTING_SPLITS},
    {TILEPOST_ALL_TO_ALL_GEMM, TILEPOST_PANEL, TILEPOST_ROUTING_ROWS},
};

Spec any_m_spec(const Shape& shape, int64_t most, int64_t n, int64_t k, Arch arch) {
  Spec spec = make_spec(most, n, k, arch);
  spec.gemm.any_m = true;
  spec.pattern.value = shape.pattern;
  spec.schedule.layout.value = shape.layout;
  spec.routing.value = shape.routing;
  // A rank multiplies as many rows as with the other patterns.
  if (row_of(shape.pattern).input_is_routed() && shape.routing != TILEPOST_ROUTING_EVEN)
    spec.max_received = wish<int64_t>(most);
  return spec;
}

tilepost_map_t map_of_run(const tilepost_plan_t& plan, const RunSchedule& run, int64_t m) {
  tilepost_map_t map = plan.map;
  map.m = m;
  map.division = run.division;
  map.num_groups = static_cast<int32_t>(run.cuts.size());
  map.cuts = run.cuts.data();
  return map;
}

void check_run(const tilepost_plan_t& plan, int64_t m) {
  const RunSchedule run = schedule_for(plan, m);
  INFO("pattern " << plan.pattern << ", division " << run.division << ", m " << m);
  const tilepost_map_t map = map_of_run(plan, run, m);
  REQUIRE(cuts_are_valid(map));
  REQUIRE(map.num_groups <= plan.map.num_groups);
  REQUIRE(run.gemm_ctas >= 1);
  REQUIRE(run.gemm_ctas % std::max(plan.map.cluster, plan.kernel.cluster) == 0);
  if (plan.transport == TILEPOST_TRANSPORT_NONE) REQUIRE_FALSE(run.overlaps);
  if (run.overlaps) {
    REQUIRE(run.division == plan.map.division);
    REQUIRE(run.gemm_ctas <= plan.gemm_ctas);
  } else {
    REQUIRE(map.num_groups == 1);
    REQUIRE((run.division == TILEPOST_DIVISION_ROWS ||
             (run.division == TILEPOST_DIVISION_COLUMNS && plan.map.layout == TILEPOST_TILE)));
  }
  const TileMap tiles = build_tile_map(map);
  REQUIRE(tiles.groups.size() == run.cuts.size());
  const int ctas = std::max(plan.map.cluster, plan.kernel.cluster);  // CTAs for each position
  REQUIRE(static_cast<int64_t>(tiles.tiles.size()) * std::max(1, ctas) >= run.gemm_ctas);
}

TEST_CASE("every m has groups that fit its map and the plan's counters") {
  for (const Arch arch : {Arch::sm_90a, Arch::host})
    for (const Shape& shape : kShapes)
      for (const int64_t ranks : {1, 2, 3, 4, 8}) {
        Spec spec = any_m_spec(shape, arch == Arch::host ? 700 : 8192, 2048, 1024, arch);
        spec.ranks.value = ranks;
        if (arch != Arch::host && shape.pattern != TILEPOST_GEMM)
          if (ranks % 2) spec.transport.value = TILEPOST_TRANSPORT_NCCL;
        const Plan p = only(spec);
        REQUIRE(p.any_m);
        const tilepost_plan_t c = p;
        for (const int64_t m : {1, 2, 3, 7, 16, 63, 64, 65, 127, 129, 255, 256, 500, 699, 700})
          check_run(c, m);
        if (arch == Arch::host) continue;
        for (int64_t m = 1; m <= 8192; m += 1 + m / 7) check_run(c, m);
        check_run(c, 8191);
      }
}

TEST_CASE("the plan of every run is right") {
  for (const Arch arch : {Arch::sm_90a, Arch::sm_86, Arch::host})
    for (const Shape& shape : kShapes)
      for (const int64_t ranks : {1, 2, 3, 4, 8})
        for (const std::optional<tilepost_transport_t> transport :
             open_or({TILEPOST_TRANSPORT_NCCL})) {
          Spec spec = any_m_spec(shape, 1100, 520, 512, arch);
          spec.ranks.value = ranks;
          if (shape.pattern != TILEPOST_GEMM) spec.transport.value = transport;
          const Plan p = only(spec);
          for (const int64_t m : {1, 2, 5, 64, 65, 200, 511, 512, 1000, 1099, 1100}) {
            INFO(name_of(arch) << " " << name_of(shape.pattern) << " " << name_of(shape.layout)
                               << " " << name_of(shape.routing) << ", " << ranks << " ranks, " << m
                               << " rows");
            const std::vector<std::string> wrong = verify_plan(plan_of_run(p, m));
            CHECK(wrong == std::vector<std::string>{});
            const Plan twin = plan_of_run(host_twin(p), m);
            CHECK(verify_plan(twin) == std::vector<std::string>{});
            CHECK(twin.cuts() == plan_of_run(p, m).cuts());
          }
        }
}

TEST_CASE("the maximum has the plan's own groups, and they are what the programme chooses") {
  for (const Shape& shape : kShapes) {
    if (shape.pattern == TILEPOST_GEMM) continue;
    const Plan p = only(any_m_spec(shape, 8192, 8192, 2048, Arch::sm_90a));
    INFO(name_of(shape.pattern) << " " << name_of(shape.layout));
    REQUIRE(p.transport != TILEPOST_TRANSPORT_NONE);
    const tilepost_plan_t c = p;
    const RunSchedule run = schedule_for(c, 8192);
    REQUIRE(run.overlaps);
    REQUIRE(run.cuts == p.cuts());
    REQUIRE(run.gemm_ctas == p.gemm_ctas);
    // A plan with a higher bound must find the same groups by the dynamic programme.
    tilepost_plan_t wider = c;
    wider.map.m = 8192 + 1;
    const RunSchedule chosen = schedule_for(wider, 8192);
    REQUIRE(chosen.overlaps);
    REQUIRE(chosen.cuts == p.cuts());
    REQUIRE(chosen.gemm_ctas == p.gemm_ctas);
  }
}

TEST_CASE("another m has the groups that the planner gives a spec for that m") {
  for (const Shape& shape : kShapes) {
    if (shape.pattern == TILEPOST_GEMM) continue;
    const Plan p = only(any_m_spec(shape, 16384, 8192, 2048, Arch::sm_90a));
    const tilepost_plan_t c = p;
    int overlapped = 0;
    for (const int64_t m : {1024, 3000, 4096, 6000, 8192, 12288}) {
      const RunSchedule run = schedule_for(c, m);
      INFO(name_of(shape.pattern) << " " << name_of(shape.layout) << " " << m);
      if (!run.overlaps) continue;
      Spec fixed = any_m_spec(shape, m, 8192, 2048, Arch::sm_90a);
      fixed.gemm.any_m = false;
      fixed.transport.value = p.planned_transport;
      fixed.schedule.tile = wish(std::vector<int64_t>{p.map.tile_m, p.map.tile_n});
      fixed.schedule.stages = wish<int64_t>(p.source.stages);
      fixed.schedule.cluster = wish<int64_t>(p.map.cluster);
      if (p.task_parts == 0) fixed.schedule.comm_sms = wish<int64_t>(p.comm_ctas);
      fixed.schedule.lanes = wish<int64_t>(p.comm_lanes);
      const Plan same = only(fixed);
      if (same.source.tunables.at("PANELS") != p.source.tunables.at("PANELS")) continue;
      if (same.cuts().size() > p.cuts().size()) continue;  // more than the plan has counters
      REQUIRE(run.gemm_ctas == same.gemm_ctas);
      ++overlapped;
      if (p.access != TILEPOST_ACCESS_MESSAGES) {
        // The part of the sums that is left when the GEMM ends depends on m. The plan has this part
        // only for its own m.
        const GroupProblem problem = {same.map, same.at_once(), unit_bytes(same, same.map.division),
                                      same.model};
        const double slack = 1 + same.model.slack;
        REQUIRE(end_of_groups(problem, run.cuts) <
                1.05 * slack * end_of_groups(problem, same.cuts()));
        continue;
      }
      REQUIRE(run.cuts == same.cuts());
    }
    INFO(name_of(shape.pattern) << " " << name_of(shape.layout));
    // More rows make fewer chunks. Most m would have more chunks than the plan has counters.
    REQUIRE(overlapped >= (row_of(shape.pattern).moves_input() ? 1 : 2));
  }
}

TEST_CASE("few rows are not worth overlap unless it was asked for") {
  for (const Shape& shape : kShapes) {
    if (shape.pattern == TILEPOST_GEMM) continue;
    Spec spec = any_m_spec(shape, 16384, 8192, 2048, Arch::sm_90a);
    const Plan open = only(spec);
    spec.transport.value = TILEPOST_TRANSPORT_NCCL;
    const Plan asked = only(spec);
    for (const int64_t m : {1, 16, 64}) {
      INFO(name_of(shape.pattern) << " " << name_of(shape.layout) << " " << m);
      REQUIRE_FALSE(schedule_for(open, m).overlaps);
      REQUIRE(schedule_for(asked, m).overlaps);
    }
    REQUIRE(schedule_for(open, 16383).overlaps);
  }
}

// ---- The dynamic programme, against all ways to cut

// The time of groups with these cuts, computed group by group: when the GEMM has computed each
// group, and when its collective may start.
double told(const GroupProblem& problem, const std::vector<int32_t>& cuts) {
  const tilepost_model_t& model = problem.model;
  const bool waits = problem.map.division == TILEPOST_DIVISION_ARRIVALS;
  double end = waits ? model.wait : 0, whole = 0;
  CutPoint before = waits ? cut_after(problem.map, 0) : CutPoint{};
  const int64_t all = cut_after(problem.map, cut_units(problem.map)).positions;
  if (waits) whole = end + computed_us(problem, all);
  for (size_t g = waits ? 1 : 0; g < cuts.size(); ++g) {
    const CutPoint point = cut_after(problem.map, units_before(problem.map, cuts[g]));
    const double collective =
        model.latency +
        static_cast<double>((point.elements - before.elements) * problem.unit_bytes) *
            model.per_byte;
    if (waits) {
      end += collective;  // everything that still waits for this chunk is computed after it
      whole = std::max(whole, end + model.tail + computed_us(problem, all - before.positions));
    } else {
      end = std::max(end, computed_us(problem, point.positions) + model.wait) + collective;
    }
    before = point;
  }
  return waits ? whole : end + model.tail;
}

bool near(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(a, b);
}

TEST_CASE("best_groups is the best of all ways to cut at the cut points, in every division") {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> some(1, 30);
  int tried = 0;
  for (const auto& [division, layout] : {std::pair(TILEPOST_DIVISION_ROWS, TILEPOST_PANEL),
                                         std::pair(TILEPOST_DIVISION_ROWS, TILEPOST_TILE),
                                         std::pair(TILEPOST_DIVISION_SHARES, TILEPOST_PANEL),
                                         std::pair(TILEPOST_DIVISION_COLUMNS, TILEPOST_TILE),
                                         std::pair(TILEPOST_DIVISION_ARRIVALS, TILEPOST_PANEL)})
    for (int repeat = 0; repeat < 60; ++repeat) {
      GroupProblem problem = {};
      tilepost_map_t& map = problem.map;
      map.m = 8 * (4 + static_cast<int>(random() % 30)) - static_cast<int>(random() % 8);
      map.n = 16 * (1 + static_cast<int>(random() % 8));
      map.tile_m = 8, map.tile_n = 16;
      map.cluster = 1 + static_cast<int>(random() % 2);
      map.band = map.cluster, map.signals_per_tile = 1;
      map.layout = layout, map.division = division;
      map.ranks = 1 + static_cast<int>(random() % 4);
      problem.unit_bytes = 2;
      problem.at_once = map.cluster * (4 + static_cast<int>(random() % 12));
      problem.model = {some(random),
                       some(random),
                       some(random),
                       0,
                       some(random),
                       some(random),
                       0.001 * some(random),
                       some(random),
                       0,
                       0,
                       0,
                       0,
                       0,
                       0.005 * static_cast<double>(random() % 8),
                       0};
      std::vector<CutPoint> points = cut_points(map, problem.at_once);
      if (points.size() > 12) continue;
      ++tried;
      const bool waits = division == TILEPOST_DIVISION_ARRIVALS;
      double best = std::numeric_limits<double>::infinity();
      for (unsigned mask = 0; mask < 1u << (points.size() - 1); ++mask) {
        std::vector<int32_t> cuts;
        if (waits) cuts.push_back(0);
        for (size_t i = 0; i < points.size(); ++i)
          if (i + 1 == points.size() || (mask >> i & 1)) cuts.push_back(points[i].cut);
        REQUIRE(near(told(problem, cuts), end_of_groups(problem, cuts)));
        best = std::min(best, told(problem, cuts));
      }
      const Groups groups = best_groups(problem);
      REQUIRE(near(groups.end, best));
      REQUIRE(near(told(problem, groups.cuts), best));
      for (const int most : {2, 3, 100}) {
        const Groups fewest = fewest_groups(problem, most);
        REQUIRE(static_cast<int>(fewest.cuts.size()) <= most);
        REQUIRE(near(told(problem, fewest.cuts), fewest.end));
        if (most == 100) REQUIRE(fewest.end <= best * (1 + problem.model.slack) * (1 + 1e-9));
      }
    }
  REQUIRE(tried > 150);
}

// ---- Launches, one for each group

// The time of launches with these cuts, computed launch by launch.
double told_launches(const GroupProblem& problem, const std::vector<int32_t>& cuts) {
  const tilepost_model_t& model = problem.model;
  double come = model.wait, end = model.wait;
  CutPoint before;
  for (size_t g = 0; g < cuts.size(); ++g) {
    const CutPoint point = cut_after(problem.map, units_before(problem.map, cuts[g]));
    if (g > 0) {
      const auto bytes =
          static_cast<double>((point.elements - before.elements) * problem.unit_bytes);
      come += model.latency + bytes * model.per_byte;
      end = std::max(end, come + model.tail);
    }
    const int64_t tiles = point.positions - before.positions;
    const auto part =
        static_cast<double>(tiles) / static_cast<double>(schedule_positions(problem.map));
    const auto waves = static_cast<double>((tiles + problem.at_once - 1) / problem.at_once);
    const double read = model.read_b + part * static_cast<double>(problem.map.m) * model.read_row;
    if (tiles > 0) end += model.start + std::max(waves * model.wave, read);
    before = point;
  }
  return end;
}

TEST_CASE("best_groups is the best of all ways to launch groups at the cut points") {
  std::mt19937 random(6);
  std::uniform_real_distribution<double> some(1, 30);
  int tried = 0, several = 0;
  for (int repeat = 0; repeat < 200; ++repeat) {
    GroupProblem problem = {};
    tilepost_map_t& map = problem.map;
    map.m = 8 * (4 + static_cast<int>(random() % 40)) - static_cast<int>(random() % 8);
    map.n = 16 * (1 + static_cast<int>(random() % 8));
    map.tile_m = 8, map.tile_n = 16;
    map.cluster = map.band = 1 + static_cast<int>(random() % 2);
    map.signals_per_tile = 1;
    map.division = TILEPOST_DIVISION_ARRIVALS;
    map.ranks = 2 + static_cast<int>(random() % 3);
    problem.unit_bytes = 2;
    problem.at_once = map.cluster * (4 + static_cast<int>(random() % 12));
    problem.launches = true;
    problem.model.start = some(random);
    problem.model.wave = some(random);
    problem.model.read_b = some(random);
    problem.model.read_row = 0.1 * some(random);
    problem.model.wait = some(random);
    problem.model.latency = 0.2 * some(random);
    problem.model.per_byte = 0.02 * some(random);
    problem.model.tail = some(random);
    problem.model.slack = 0.005 * static_cast<double>(random() % 8);
    const std::vector<CutPoint> points = cut_points(map, problem.at_once);
    if (points.size() > 12) continue;
    ++tried;
    double best = std::numeric_limits<double>::infinity();
    for (unsigned mask = 0; mask < 1u << (points.size() - 1); ++mask) {
      std::vector<int32_t> cuts = {0};
      for (size_t i = 0; i < points.size(); ++i)
        if (i + 1 == points.size() || (mask >> i & 1)) cuts.push_back(points[i].cut);
      REQUIRE(near(told_launches(problem, cuts), end_of_groups(problem, cuts)));
      best = std::min(best, told_launches(problem, cuts));
    }
    const Groups groups = best_groups(problem);
    REQUIRE(near(groups.end, best));
    REQUIRE(near(told_launches(problem, groups.cuts), best));
    several += groups.cuts.size() > 2;
    for (const int most : {2, 3, 100}) {
      const Groups fewest = fewest_groups(problem, most);
      REQUIRE(static_cast<int>(fewest.cuts.size()) <= most);
      REQUIRE(near(told_launches(problem, fewest.cuts), fewest.end));
      if (most == 100) REQUIRE(fewest.end <= best * (1 + problem.model.slack) * (1 + 1e-9));
      REQUIRE(fewest.cuts.size() <= std::max<size_t>(2, groups.cuts.size()));
    }
  }
  REQUIRE(tried > 100);
  REQUIRE(several > 20);
}

// ---- Shares that take turns

GroupProblem round_robin_problem(int64_t m, int ranks, int cluster, double per_row) {
  GroupProblem problem = {};
  tilepost_map_t& map = problem.map;
  map.m = m, map.n = 64, map.tile_m = 8, map.tile_n = 16;
  map.cluster = cluster, map.band = cluster, map.signals_per_tile = 1;
  map.division = TILEPOST_DIVISION_ARRIVALS, map.ranks = ranks, map.round_robin = 1;
  problem.unit_bytes = 1;
  problem.at_once = 4 * cluster;
  problem.model.wave = 10;
  problem.model.latency = 1;
  problem.model.per_byte = per_row;
  problem.model.slack = 0.005;
  return problem;
}

TEST_CASE("shares that take turns arrive whole where the GEMM has enough to do meanwhile") {
  // Each of 4 shares takes four waves of 10 us, and 11 us to arrive.
  const Groups groups = fewest_groups(round_robin_problem(256, 4, 2, 10.0 / 64), 100);
  REQUIRE(groups.cuts == std::vector<int32_t>{0, 8, 16, 24});
  REQUIRE(near(groups.end, 4 * 4 * 10));
}

TEST_CASE("shares that take turns are launched whole where waves would be lost") {
  GroupProblem problem = round_robin_problem(256, 4, 2, 10.0 / 64);
  problem.launches = true;
  const Groups groups = fewest_groups(problem, 100);
  REQUIRE(groups.cuts == std::vector<int32_t>{0, 8, 16, 24});
  REQUIRE(near(groups.end, 4 * 4 * 10));
  problem.at_once = 12;  // a share has 32 positions: three waves, the last of 8
  REQUIRE(near(best_groups(problem).end, 4 * 3 * 10));
}

TEST_CASE("shares that take turns are cut where the GEMM would wait for them") {
  const GroupProblem problem = round_robin_problem(256, 4, 2, 200.0 / 64);
  const Groups groups = best_groups(problem);
  REQUIRE(groups.cuts.size() == 1 + 3 * 4);  // the last group has two tile rows
  REQUIRE(groups.cuts[4] == 8);
  REQUIRE(groups.end < end_of_groups(problem, {0, 8, 16, 24}));
  REQUIRE(fewest_groups(problem, 7).cuts.size() == 1 + 3 * 2);
}

TEST_CASE("shares that take turns fill clusters across their borders") {
  // 4 shares of one tile row each, and clusters of 2. A group for each share would be half padding.
  const Groups groups = best_groups(round_robin_problem(32, 4, 2, 0.01));
  REQUIRE(groups.cuts == std::vector<int32_t>{0, 2, 3});
  // Groups of the own tile row, two and one. Each has whole clusters of 4 columns, and 8 positions
  // run at once.
  REQUIRE(near(groups.end, 3 * 10));
}

TEST_CASE("who has no rows waits for those who have") {
  // 3 rows in one tile. The last rank has none, so its only group is the last that brings it rows.
  const GroupProblem problem = round_robin_problem(3, 4, 1, 100);
  const Groups groups = best_groups(problem);
  REQUIRE(groups.end > 10 + 100);
}

}  // namespace
}  // namespace tilepost::test
