// transport: peer_tiles where a rank gets its share of the rows, summed or from every rank: when it
// is planned, the plan, and what verify_plan notices in wrong plans.
#include <functional>

#include "generator/plan/choose/plan_of_run.h"
#include "generator/plan/kernels/kernels.h"
#include "generator/plan/kernels/sm90_small/sm90_small.h"
#include "generator/plan/report/memory.h"
#include "generator/plan/verify/traffic.h"
#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

constexpr tilepost_pattern_t kScattering[] = {TILEPOST_GEMM_REDUCE_SCATTER,
                                              TILEPOST_GEMM_ALL_TO_ALL};
constexpr tilepost_shots_t kShots[] = {TILEPOST_ONE_SHOT, TILEPOST_ONE_SHOT_LINES};

Spec few_rows(tilepost_pattern_t pattern, int64_t m, int ranks = 4) {
  Spec spec = spec_of(pattern, TILEPOST_TRANSPORT_PEER_TILES, m);
  spec.ranks.value = ranks;
  return spec;
}

Plan exchanging(tilepost_pattern_t pattern, tilepost_shots_t shots, int64_t m, int ranks = 4) {
  Spec spec = few_rows(pattern, m, ranks);
  spec.schedule.shots.value = shots;
  return only(spec);
}

template <class Body>
void for_all(Body body) {
  for (const tilepost_pattern_t pattern : kScattering)
    for (const tilepost_shots_t shots : kShots) {
      INFO(name_of(pattern) << ", shots " << shots);
      body(pattern, shots);
    }
}

TEST_CASE("few rows of which a rank gets its share are exchanged unasked, in one shot") {
  for (const tilepost_pattern_t pattern : kScattering) {
    for (const int64_t m : {1, 16, 64, 256, 512}) {
      INFO(name_of(pattern) << " of " << m << " rows");
      const Plan p = only(spec_of(pattern, std::nullopt, m));
      REQUIRE(p.planned_transport == TILEPOST_TRANSPORT_PEER_TILES);
      REQUIRE(p.shots != TILEPOST_TWO_SHOT);
      REQUIRE(p.prediction.total < p.prediction.sequence);
    }
    const int64_t most = default_machine().peers.tiles.most_rows;
    REQUIRE(only(spec_of(pattern, std::nullopt, most + 1)).planned_transport !=
            TILEPOST_TRANSPORT_PEER_TILES);
  }
  Spec routed = spec_of(TILEPOST_GEMM_ALL_TO_ALL, std::nullopt, 64);
  routed.routing.value = TILEPOST_ROUTING_SPLITS;
  REQUIRE(only(routed).planned_transport != TILEPOST_TRANSPORT_PEER_TILES);
}

TEST_CASE("tiles are cut without regard to shares, in one group") {
  for_all([](tilepost_pattern_t pattern, tilepost_shots_t shots) {
    const Plan p = exchanging(pattern, shots, 256);
    REQUIRE(p.access == TILEPOST_ACCESS_TILES);
    REQUIRE(p.shots == shots);
    REQUIRE(p.pushes == 0);
    REQUIRE(p.map.division == TILEPOST_DIVISION_ROWS);
    REQUIRE(p.map.ranks == 4);
    REQUIRE(p.map.stagger == 0);
    REQUIRE(p.cuts() == std::vector<int32_t>{2});  // in tile rows
    REQUIRE(p.comm_ctas == 0);
    const RunPath path = paths_of(p).planned;
    REQUIRE(path.whole_run);
    REQUIRE(path.kernel_does_all);
    REQUIRE(path.results == Buffer::out);
    REQUIRE(!path.lends_out);
  });
}

// A tile of 128 rows has 16 units of eight rows.
TEST_CASE("boxes in which a share may end are small") {
  const auto box = [](int split_k, int64_t share) {
    for (const KernelConfig& config : small_configs(128, 204800)) {
      if (config.split_k != split_k || config.tile_n != 64) continue;
      KernelRequest request;
      request.shots = TILEPOST_ONE_SHOT;
      request.ranks = 4;
      request.share_rows = share;
      return int{make_kernel(config, request).kernel.box_c.rows};
    }
    FAIL("no such row");
    return 0;
  };
  REQUIRE(box(1, 0) == 128);    // every rank gets all rows
  REQUIRE(box(1, 256) == 128);  // shares end where parts end
  REQUIRE(box(1, 64) == 16);
  REQUIRE(box(1, 1) == 16);
  REQUIRE(box(2, 64) == 64);
  REQUIRE(box(2, 96) == 16);
  REQUIRE(box(8, 48) == 16);
  REQUIRE(box(8, 50) == 16);
  REQUIRE(box(3, 50) == 8);  // 16 units for 3 CTAs
}

TEST_CASE("every share of few rows gets a right plan, and so does the host") {
  int split = 0, with_ends = 0;
  for_all([&](tilepost_pattern_t pattern, tilepost_shots_t shots) {
    for (const int ranks : {2, 3, 4, 8})
      for (const int64_t m : {1, 3, 8, 9, 33, 64, 65, 100, 129, 300, 1023, 2048})
        for (const int64_t n : {8, 200, 2048})
          for (const bool any_m : {false, true}) {
            Spec spec = few_rows(pattern, m, ranks);
            spec.gemm.n.value = n;
            spec.gemm.any_m = any_m;
            spec.schedule.shots.value = shots;
            INFO(m << "x" << n << " on " << ranks << " ranks");
            const Plan p = only(spec);
            REQUIRE(p.shots == shots);
            split += p.source.split_k > 1 ? 1 : 0;
            with_ends += share_rows(p.map) % p.kernel.box_c.rows != 0 ? 1 : 0;
            const Plan twin = host_twin(p);
            REQUIRE(twin.access == TILEPOST_ACCESS_TILES);
            REQUIRE(twin.shots == shots);
            REQUIRE(verify_plan(twin) == std::vector<std::string>{});
          }
  });
  REQUIRE(split > 0);
  REQUIRE(with_ends > 0);
}

TEST_CASE("any number of rows, also in sequence where that is faster") {
  for (const tilepost_pattern_t pattern : kScattering) {
    Spec spec = few_rows(pattern, 700);
    spec.gemm.any_m = true;
    const Plan p = only(spec);
    for (int64_t m = 1; m <= 700; m += m < 140 ? 1 : 41) {
      const Plan run = plan_of_run(p, m);
      INFO(name_of(pattern) << " of " << m << " rows");
      REQUIRE(run.transport == TILEPOST_TRANSPORT_PEER_TILES);
      REQUIRE(verify_plan(run) == std::vector<std::string>{});
    }
    spec.transport.value = std::nullopt;
    Plan open = only(spec);
    REQUIRE(open.planned_transport == TILEPOST_TRANSPORT_PEER_TILES);
    REQUIRE(open.model.sequence_ctas > 0);
    open.model.latency += 1000;
    const Plan run = plan_of_run(open, 16);
    REQUIRE(run.transport == TILEPOST_TRANSPORT_NONE);
    REQUIRE(verify_plan(run) == std::vector<std::string>{});
  }
}

TEST_CASE("planned for the host, kernels exchange all rows at once") {
  for (const tilepost_pattern_t pattern : kScattering) {
    Spec spec = make_spec(640, 2560, 128, Arch::host);
    spec.pattern.value = pattern;
    spec.transport.value = TILEPOST_TRANSPORT_PEER_TILES;
    const Plan p = only(spec);
    REQUIRE(p.transport == TILEPOST_TRANSPORT_HOST);
    REQUIRE(p.access == TILEPOST_ACCESS_TILES);
    REQUIRE(p.map.division == TILEPOST_DIVISION_ROWS);
    REQUIRE(p.cuts().size() == 1);
  }
}

// 64 rows of 8192 columns on four ranks make shares of 16 rows.
TEST_CASE("memory: two sets of a share for each rank, each with room for a box") {
  const auto slots = [](const Plan& p) {
    for (const PlannedMemory& part : planned_memory(p))
      if (std::string(part.name) == "slots") return part.bytes;
    return int64_t{0};
  };
  constexpr int64_t kRow = 8192 * 2;
  for (const tilepost_pattern_t pattern : kScattering) {
    const Plan p = exchanging(pattern, TILEPOST_ONE_SHOT, 64);
    REQUIRE(slots(p) == 2 * 4 * (16 + p.kernel.box_c.rows) * kRow);
    // A line has six elements. At most 172 lines have elements of a rank's 16 x 64 in a part.
    const Plan lines = exchanging(pattern, TILEPOST_ONE_SHOT_LINES, 64);
    REQUIRE(lines.gemm_ctas == 128);
    REQUIRE(slots(lines) == 2 * 4 * 128 * 172 * 16);
  }
}

TEST_CASE("it takes a share of what one shot to all ranks takes") {
  for (const tilepost_shots_t shots : kShots) {
    MachineProfile slow = default_machine();
    slow.peers.tiles.one_shot.us_per_mib += 100;
    slow.peers.tiles.lines.us_per_mib += 100;
    const auto slower = [&](tilepost_pattern_t pattern) {
      Spec spec = few_rows(pattern, 64);
      spec.schedule.shots.value = shots;
      return plan(spec, slow).plans.front().prediction.total - only(spec).prediction.total;
    };
    const double all = slower(TILEPOST_GEMM_ALL_REDUCE);
    CHECK(all == Approx(100 * 3));  // 1 MiB exchanged with each of three ranks
    for (const tilepost_pattern_t pattern : kScattering) CHECK(slower(pattern) == Approx(all / 4));
  }
}

TEST_CASE("caught: a plan of shares that has what does not go with it") {
  const std::pair<const char*, std::function<void(Plan&)>> mutants[] = {
      {"two shots", [](Plan& p) { p.shots = TILEPOST_TWO_SHOT; }},
      {"no shot", [](Plan& p) { p.shots = TILEPOST_SHOTS_NONE; }},
      {"pushes", [](Plan& p) { p.pushes = 1; }},
      {"one share", [](Plan& p) { p.map.ranks = 1; }},
      {"tiles of shares", [](Plan& p) { p.map.division = TILEPOST_DIVISION_SHARES; }},
      {"turns", [](Plan& p) { p.map.stagger = 8; }},
      {"rows that go anywhere", [](Plan& p) { p.routing = TILEPOST_ROUTING_SPLITS; }},
      {"rows of A", [](Plan& p) { p.pattern = TILEPOST_ALL_GATHER_GEMM; }},
      {"boxes the kernel does not know", [](Plan& p) { p.kernel.box_c.rows *= 2; }},
      {"no helper warps", [](Plan& p) { p.source.tunables.erase("HELPER_WARPS"); }},
  };
  for_all([&](tilepost_pattern_t pattern, tilepost_shots_t shots) {
    for (const auto& [what, change] : mutants) {
      INFO(what);
      REQUIRE(said_of(exchanging(pattern, shots, 200), change) != "");
    }
  });
}

TEST_CASE("caught: rows of a share that come twice, or not") {
  for_all([](tilepost_pattern_t pattern, tilepost_shots_t shots) {
    const Plan p = exchanging(pattern, shots, 300);
    REQUIRE(p.tile_map().tiles.size() > 2);
    REQUIRE(said_of(p, [](Plan& q) { q.own_tile_map().tiles[1] = q.own_tile_map().tiles[0]; }) !=
            "");
    REQUIRE(said_of(p, [](Plan& q) { q.own_tile_map().tiles[0].m += 8; }) != "");
    REQUIRE(said_of(p, [](Plan& q) { q.own_tile_map().tiles[0].row = -1; }) != "");
  });
}

// Follows only the tiles. Other checks of verify_plan may find such plans wrong too.
TEST_CASE("caught: boxes that bring a row of a share twice, or none") {
  const auto followed = [](Plan p, const std::function<void(Plan&)>& change) {
    change(p);
    Findings findings;
    follow_tiles(p, findings);
    return join(findings.take());
  };
  for_all([&](tilepost_pattern_t pattern, tilepost_shots_t shots) {
    const Plan p = exchanging(pattern, shots, 300);
    REQUIRE(followed(p, [](Plan&) {}) == "");
    REQUIRE_THAT(followed(p, [](Plan& q) { q.own_tile_map().tiles[0].row = -1; }),
                 Catch::Contains("column 0: rank 0 takes row 0, which has not come, 0 times"));
    REQUIRE_THAT(
        followed(p, [](Plan& q) { q.own_tile_map().tiles[1] = q.own_tile_map().tiles[0]; }),
        Catch::Contains("row 0 lies where another does, with rank 0"));
    // These boxes reach into the next part.
    REQUIRE_THAT(followed(p, [](Plan& q) { q.kernel.box_c.rows = q.map.tile_m + 8; }),
                 Catch::Contains("lies where another does"));
  });
}

}  // namespace
}  // namespace tilepost::test
