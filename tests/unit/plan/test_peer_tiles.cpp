// transport: peer_tiles: when it is planned, the plan, and what verify_plan notices in wrong plans.
#include <functional>

#include "generator/plan/choose/plan_of_run.h"
#include "generator/plan/kernels/kernels.h"
#include "generator/plan/kernels/sm90_small/sm90_small.h"
#include "generator/plan/report/memory.h"
#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

constexpr tilepost_shots_t kShots[] = {TILEPOST_ONE_SHOT, TILEPOST_ONE_SHOT_LINES,
                                       TILEPOST_TWO_SHOT};

Spec few_rows(int64_t m, std::optional<tilepost_transport_t> transport) {
  return spec_of(TILEPOST_GEMM_ALL_REDUCE, transport, m);
}

// A machine on which every other number of shots takes very long.
MachineProfile machine_for(tilepost_shots_t shots) {
  MachineProfile profile = default_machine();
  TileProfile& tiles = profile.peers.tiles;
  if (shots != TILEPOST_ONE_SHOT) tiles.one_shot.us_per_mib = 1e9;
  if (shots != TILEPOST_ONE_SHOT_LINES) tiles.lines.us_per_mib = 1e9;
  if (shots != TILEPOST_TWO_SHOT) tiles.two_shots.us_per_mib = 1e9;
  return profile;
}

Plan exchanging(int64_t m, tilepost_shots_t shots, int ranks = 4) {
  Spec spec = few_rows(m, TILEPOST_TRANSPORT_PEER_TILES);
  spec.ranks.value = ranks;
  const Planned planned = plan(spec, machine_for(shots));
  INFO(planned.messages);
  REQUIRE(planned.plans.size() == 1);
  REQUIRE(planned.plans.front().shots == shots);
  return planned.plans.front();
}

TEST_CASE("few rows of an AllReduce are exchanged unasked, in the shots that end first") {
  for (const auto& [m, shots] :
       {std::pair(1, TILEPOST_ONE_SHOT_LINES), std::pair(16, TILEPOST_ONE_SHOT),
        std::pair(64, TILEPOST_TWO_SHOT), std::pair(256, TILEPOST_TWO_SHOT)}) {
    INFO(m << " rows");
    const Plan p = only(few_rows(m, std::nullopt));
    REQUIRE(p.planned_transport == TILEPOST_TRANSPORT_PEER_TILES);
    REQUIRE(p.shots == shots);
    REQUIRE(p.prediction.total < p.prediction.sequence);
  }
  const int64_t most = default_machine().peers.tiles.most_rows;
  REQUIRE(most <= kMostExchangedRows);
  REQUIRE(only(few_rows(most + 1, std::nullopt)).planned_transport !=
          TILEPOST_TRANSPORT_PEER_TILES);
}

TEST_CASE("not unasked where something must run beside it, or nothing can exchange tiles") {
  const auto chosen = [](const std::function<void(Spec&)>& change) {
    Spec spec = few_rows(64, std::nullopt);
    change(spec);
    return only(spec).planned_transport;
  };
  REQUIRE(chosen([](Spec&) {}) == TILEPOST_TRANSPORT_PEER_TILES);
  const std::function<void(Spec&)> changes[] = {
      [](Spec& spec) { spec.neighbours.value = true; },
      [](Spec& spec) { spec.schedule.layout.value = TILEPOST_TILE; },
      [](Spec& spec) { spec.schedule.wait.value = TILEPOST_WAIT_STREAM; },
      [](Spec& spec) { spec.schedule.comm_sms = wish<int64_t>(8); },
      [](Spec& spec) {
        spec.schedule.tile = wish(std::vector<int64_t>{128, 128});
      },
      [](Spec& spec) { spec.ranks.value = TILEPOST_MOST_EXCHANGING + 1; },
      [](Spec& spec) { spec.gemm.k.value = 2047; },
      [](Spec& spec) { spec.archs.value = {Arch::sm_80}; },
      [](Spec& spec) { spec.pattern.value = TILEPOST_ALL_TO_ALL_GEMM; },
  };
  for (const auto& change : changes) REQUIRE(chosen(change) != TILEPOST_TRANSPORT_PEER_TILES);
}

TEST_CASE("more rows than the kernel is for it takes to exchange their tiles alone") {
  const int64_t m = 2 * kMostSmallRows;
  const Plan p = only(few_rows(m, TILEPOST_TRANSPORT_PEER_TILES));
  REQUIRE(p.kernel.name == std::string("gemm_sm90_small"));
  REQUIRE(p.prediction.sequence > p.prediction.gemm);
  for (const tilepost_transport_t other : {TILEPOST_TRANSPORT_NONE, TILEPOST_TRANSPORT_NCCL})
    REQUIRE(only(few_rows(m, other)).kernel.name == std::string("gemm_sm90"));
  REQUIRE(only(spec_of(TILEPOST_ALL_TO_ALL_GEMM, std::nullopt, m)).kernel.name ==
          std::string("gemm_sm90"));
}

TEST_CASE("shots as asked") {
  for (const tilepost_shots_t shots : kShots)
    for (const int64_t m : {1, 256}) {
      Spec spec = few_rows(m, TILEPOST_TRANSPORT_PEER_TILES);
      spec.schedule.shots.value = shots;
      REQUIRE(only(spec).shots == shots);
    }
}

TEST_CASE("the kernel is the whole run") {
  for (const tilepost_shots_t shots : kShots) {
    const Plan p = exchanging(256, shots);
    REQUIRE(p.transport == TILEPOST_TRANSPORT_PEER_TILES);
    REQUIRE(p.access == TILEPOST_ACCESS_TILES);
    REQUIRE(p.pushes == (shots == TILEPOST_TWO_SHOT ? 1 : 0));
    REQUIRE(p.map.division == TILEPOST_DIVISION_ROWS);
    REQUIRE(p.map.ranks == 1);
    REQUIRE(p.map.stagger == 0);
    REQUIRE(p.cuts() == std::vector<int32_t>{2});  // tile rows
    REQUIRE(p.comm_ctas == 0);
    REQUIRE(p.comm_lanes == 1);
    REQUIRE(p.task_parts == 0);
    REQUIRE(p.kernel.name == std::string("gemm_sm90_small"));
    REQUIRE(p.kernel.early);
    REQUIRE(p.source.tunables.at("HELPER_WARPS") == "4");
    REQUIRE(p.source.tunables.count("LENDS") == (shots == TILEPOST_ONE_SHOT_LINES ? 1 : 0));
    REQUIRE(p.source.tunables.at("BOX_M") == std::to_string(p.kernel.box_c.rows));
    const RunPath path = paths_of(p).planned;
    REQUIRE(path.whole_run);
    REQUIRE(path.kernel_does_all);
    REQUIRE(path.results == Buffer::out);
  }
}

// A tile of 128 rows has 16 units of eight rows.
TEST_CASE("boxes are what a CTA owns, or small enough that every rank sums some of it") {
  const auto box = [](int split_k, int tile_m, tilepost_shots_t shots, int ranks) {
    for (const KernelConfig& config : small_configs(tile_m, 204800)) {
      if (config.split_k != split_k || config.tile_m != tile_m || config.tile_n != 64) continue;
      KernelRequest request;
      request.shots = shots;
      request.ranks = ranks;
      const KernelPlan kernel = make_kernel(config, request);
      REQUIRE(kernel.kernel.threads == threads(config) + (shots == TILEPOST_SHOTS_NONE ? 0 : 128));
      REQUIRE((kernel.source.tunables.count("BOX_M") == 1) == (shots != TILEPOST_SHOTS_NONE));
      return int{kernel.kernel.box_c.rows};
    }
    FAIL("no such row");
    return 0;
  };
  REQUIRE(box(1, 128, TILEPOST_SHOTS_NONE, 4) == 128);
  REQUIRE(box(1, 128, TILEPOST_ONE_SHOT, 4) == 128);
  REQUIRE(box(1, 128, TILEPOST_TWO_SHOT, 4) == 32);
  REQUIRE(box(1, 128, TILEPOST_TWO_SHOT, 2) == 64);
  REQUIRE(box(1, 128, TILEPOST_TWO_SHOT, 3) == 32);
  REQUIRE(box(1, 112, TILEPOST_TWO_SHOT, 4) == 16);  // 14 units make seven boxes of two units
  REQUIRE(box(1, 8, TILEPOST_TWO_SHOT, 8) == 8);
  REQUIRE(box(2, 128, TILEPOST_TWO_SHOT, 4) == 16);
  REQUIRE(box(8, 128, TILEPOST_TWO_SHOT, 4) == 8);
  REQUIRE(box(3, 128, TILEPOST_ONE_SHOT, 4) == 8);  // 16 units for 3 CTAs
  REQUIRE(box(3, 48, TILEPOST_ONE_SHOT, 4) == 16);
}

// Twelve warps leave as many registers for each as two sets of sums take.
TEST_CASE("kernels of tall tiles with two sets of sums have fewer helper warps") {
  const auto threads_of = [](tilepost_dtype_t input, tilepost_accumulate_t accumulate) {
    Spec spec = few_rows(256, TILEPOST_TRANSPORT_PEER_TILES);
    spec.gemm.a.value = spec.gemm.b.value = input;
    spec.gemm.accumulate.value = accumulate;
    const Plan p = only(spec);
    REQUIRE(p.map.tile_n == 128);
    REQUIRE(p.source.tunables.at("HELPER_WARPS") == std::to_string(p.kernel.threads / 32 - 10));
    return int{p.kernel.threads};
  };
  REQUIRE(threads_of(TILEPOST_BF16, TILEPOST_PRECISE) == 32 * 14);
  REQUIRE(threads_of(TILEPOST_E4M3, TILEPOST_FAST) == 32 * 14);
  REQUIRE(threads_of(TILEPOST_E4M3, TILEPOST_PRECISE) == 32 * 12);
}

TEST_CASE("kernels of tall tiles have fewer helper warps where their sums need the registers") {
  const auto helpers_of = [](int64_t tile_m, bool scales = false) {
    Spec spec = few_rows(1024, TILEPOST_TRANSPORT_PEER_TILES);
    spec.schedule.tile = wish(std::vector<int64_t>{tile_m, 128});
    if (scales) spec.gemm.epilogue = {wish(TILEPOST_SCALE_COLUMNS)};
    return only(spec).source.tunables.at("HELPER_WARPS");
  };
  REQUIRE(helpers_of(176) == "4");
  REQUIRE(helpers_of(176, true) == "2");
  REQUIRE(helpers_of(256) == "2");
}

TEST_CASE("every few rows get a right plan, in one shot and in two, and so does the host") {
  int split = 0;
  for (const tilepost_shots_t shots : kShots)
    for (const int ranks : {2, 3, 4, 8})
      for (const int64_t m : {1, 8, 9, 33, 64, 65, 100, 128, 129, 200, 300, 2048})
        for (const int64_t n : {8, 200, 2048, 8192})
          for (const bool any_m : {false, true}) {
            Spec spec = few_rows(m, TILEPOST_TRANSPORT_PEER_TILES);
            spec.ranks.value = ranks;
            spec.gemm.n.value = n;
            spec.gemm.any_m = any_m;
            const Planned planned = plan(spec, machine_for(shots));
            INFO(m << "x" << n << " on " << ranks << " ranks: " << planned.messages);
            REQUIRE(planned.plans.size() == 1);
            const Plan& p = planned.plans.front();
            REQUIRE(p.shots == shots);
            REQUIRE(p.cuts().size() == 1);
            split += p.source.split_k > 1 ? 1 : 0;
            const Plan twin = host_twin(p);
            REQUIRE(twin.access == TILEPOST_ACCESS_TILES);
            REQUIRE(twin.shots == shots);
            REQUIRE(verify_plan(twin) == std::vector<std::string>{});
          }
  REQUIRE(split > 0);
}

TEST_CASE("any number of rows is one group, and runs in sequence where that is faster") {
  Spec spec = few_rows(1024, TILEPOST_TRANSPORT_PEER_TILES);
  spec.gemm.any_m = true;
  const Plan p = only(spec);
  for (int64_t m = 1; m <= 1024; m += m < 300 ? 1 : 41) {
    const Plan run = plan_of_run(p, m);
    INFO(m << " rows");
    REQUIRE(run.transport == TILEPOST_TRANSPORT_PEER_TILES);
    REQUIRE(run.cuts().size() == 1);
    REQUIRE(verify_plan(run).empty());
  }
  spec.transport.value = std::nullopt;
  Plan open = only(spec);
  REQUIRE(open.planned_transport == TILEPOST_TRANSPORT_PEER_TILES);
  REQUIRE(open.model.sequence_ctas > 0);
  REQUIRE(plan_of_run(open, 16).transport == TILEPOST_TRANSPORT_PEER_TILES);
  open.model.latency += 1000;
  const Plan run = plan_of_run(open, 16);
  REQUIRE(run.transport == TILEPOST_TRANSPORT_NONE);
  REQUIRE(run.shots == TILEPOST_SHOTS_NONE);
  REQUIRE(verify_plan(run).empty());
}

TEST_CASE("planned for the host, its kernels exchange tiles, of whole units of rows") {
  for (const int64_t m : {1, 3, 17, 64, 300}) {
    Spec spec = make_spec(m, 257, 127, Arch::host);
    spec.transport.value = TILEPOST_TRANSPORT_PEER_TILES;
    const Plan p = only(spec);
    REQUIRE(p.planned_transport == TILEPOST_TRANSPORT_PEER_TILES);
    REQUIRE(p.transport == TILEPOST_TRANSPORT_HOST);
    REQUIRE(p.access == TILEPOST_ACCESS_TILES);
    REQUIRE(p.shots == TILEPOST_ONE_SHOT);
    REQUIRE(p.comm_ctas == 0);
    REQUIRE(p.map.tile_m % 8 == 0);
    REQUIRE(p.source.tunables.at("BOX_M") == std::to_string(p.kernel.box_c.rows));
    for (const tilepost_shots_t shots : kShots) {
      spec.schedule.shots.value = shots;
      REQUIRE(only(spec).shots == shots);
    }
  }
  Spec spec = make_spec(64, 256, 128, Arch::host);
  spec.transport.value = TILEPOST_TRANSPORT_PEER_TILES;
  spec.schedule.tile = wish(std::vector<int64_t>{12, 16});
  REQUIRE_THAT(plan(spec).messages,
               Catch::Contains("tile '12x16' is not possible with transport 'peer_tiles', whose "
                               "kernels exchange 8 rows at a time; use a multiple of 8 rows"));
}

// 64 rows of 8192 columns on four ranks: 128 tiles, each on one CTA.
TEST_CASE("memory: two sets of a slot for each rank, flags, and where sums land") {
  const auto bytes = [](const Plan& p, const std::string& name) {
    for (const PlannedMemory& part : planned_memory(p))
      if (part.name == name) return part.bytes;
    return int64_t{0};
  };
  constexpr int64_t kRow = 8192 * 2;
  const Plan one = exchanging(64, TILEPOST_ONE_SHOT), two = exchanging(64, TILEPOST_TWO_SHOT);
  REQUIRE(bytes(one, "slots") == 2 * 4 * 64 * kRow);
  REQUIRE(bytes(two, "slots") == 2 * 64 * kRow);
  REQUIRE(bytes(one, "landed") == 0);
  REQUIRE(bytes(two, "landed") == 64 * kRow);
  REQUIRE(bytes(two, "flags") == 2 * 2 * int64_t{two.gemm_ctas} * 8 * 4);
  // Five boxes of 16 rows, two of them with rank 0.
  const Plan odd = exchanging(70, TILEPOST_TWO_SHOT);
  REQUIRE(odd.kernel.box_c.rows == 16);
  REQUIRE(bytes(odd, "slots") == 2 * 4 * 32 * kRow);
  // A line of 16 bytes has six elements, so the 64 x 64 of a part take 683 lines.
  const Plan lines = exchanging(64, TILEPOST_ONE_SHOT_LINES);
  REQUIRE(lines.gemm_ctas == 128);
  REQUIRE(bytes(lines, "slots") == 2 * 4 * 128 * 683 * 16);
}

TEST_CASE("what it takes grows with the rows, and with the latency of a shot") {
  double last = 0;
  for (const int64_t m : {1, 16, 32, 64, 128, 256}) {
    const double now = only(few_rows(m, TILEPOST_TRANSPORT_PEER_TILES)).prediction.total;
    CHECK(now > last);
    last = now;
  }
  for (const tilepost_shots_t shots : kShots) {
    MachineProfile slow = machine_for(shots);
    for (ShotProfile* shot :
         {&slow.peers.tiles.lines, &slow.peers.tiles.one_shot, &slow.peers.tiles.two_shots})
      shot->latency_us += 10;
    const Plan p = plan(few_rows(64, TILEPOST_TRANSPORT_PEER_TILES), slow).plans.front();
    CHECK(p.prediction.total - exchanging(64, shots).prediction.total == Approx(10));
  }
}

// A plan with `shots` whose kernel normalises rows.
Plan normalising(tilepost_shots_t shots, tilepost_consumer_t norm, int64_t n = 8192) {
  Spec spec = few_rows(64, TILEPOST_TRANSPORT_PEER_TILES);
  spec.consumer.value = norm;
  spec.gemm.n.value = n;
  const Planned planned = plan(spec, machine_for(shots));
  INFO(planned.messages);
  REQUIRE(planned.plans.size() == 1);
  return planned.plans.front();
}

TEST_CASE("the kernel normalises what it sums, and no consumer follows") {
  for (const tilepost_consumer_t norm :
       {TILEPOST_CONSUMER_RMS_NORM, TILEPOST_CONSUMER_RESIDUAL_RMS_NORM})
    for (const tilepost_shots_t shots : kShots)
      for (const int64_t n : {8, 200, 5120, 8192, 65536}) {
        const Plan p = normalising(shots, norm, n);
        REQUIRE(p.shots == shots);
        REQUIRE(p.consumer == norm);
        const RunPath path = paths_of(p).planned;
        REQUIRE(path.normalises);
        REQUIRE_FALSE(path.consumes);
        REQUIRE_FALSE(path.lends_out);
        REQUIRE(path.results == Buffer::out);
        REQUIRE(p.source.tunables.count("LENDS") == (shots == TILEPOST_TWO_SHOT ? 0 : 1));
        const Plan twin = host_twin(p);
        REQUIRE(paths_of(twin).planned.normalises);
        REQUIRE(verify_plan(twin).empty());
      }
}

// The plan for a machine on which norms of up to `rows` rows were timed.
Plan where_timed(const Spec& spec, int64_t rows) {
  MachineProfile profile = default_machine();
  profile.peers.tiles.most_normalised_rows = rows;
  const Planned planned = plan(spec, profile);
  INFO(planned.messages);
  REQUIRE(planned.plans.size() == 1);
  return planned.plans.front();
}

TEST_CASE("rows are normalised by the kernel unasked where that was timed") {
  for (const int64_t m : {1, 64, 256}) {
    Spec spec = few_rows(m, std::nullopt);
    spec.consumer.value = TILEPOST_CONSUMER_RMS_NORM;
    CHECK(where_timed(spec, 1024).planned_transport == TILEPOST_TRANSPORT_PEER_TILES);
    CHECK(where_timed(spec, m - 1).planned_transport != TILEPOST_TRANSPORT_PEER_TILES);
  }
  REQUIRE(default_machine().peers.tiles.most_normalised_rows <= kMostExchangedRows);
}

TEST_CASE("runs in sequence of such a plan have their norm behind them") {
  Spec spec = few_rows(1024, std::nullopt);
  spec.gemm.any_m = true;
  spec.consumer.value = TILEPOST_CONSUMER_RESIDUAL_RMS_NORM;
  Plan p = where_timed(spec, 1024);
  REQUIRE(p.planned_transport == TILEPOST_TRANSPORT_PEER_TILES);
  p.model.latency += 1000;
  const Plan run = plan_of_run(p, 16);
  REQUIRE(run.transport == TILEPOST_TRANSPORT_NONE);
  REQUIRE(path_of(run, false).consumes);
  REQUIRE(path_of(run, false).stores == Buffer::send);
  REQUIRE(verify_plan(run).empty());
}

TEST_CASE("caught: a plan that exchanges tiles and has what does not go with it") {
  const std::pair<const char*, std::function<void(Plan&)>> mutants[] = {
      {"no shot", [](Plan& p) { p.shots = TILEPOST_SHOTS_NONE; }},
      {"the other shots",
       [](Plan& p) {
         p.shots = p.shots == TILEPOST_ONE_SHOT ? TILEPOST_ONE_SHOT_LINES : TILEPOST_ONE_SHOT;
       }},
      {"pushes", [](Plan& p) { p.pushes = 1 - p.pushes; }},
      {"lanes", [](Plan& p) { p.comm_lanes = 2; }},
      {"SMs beside it", [](Plan& p) { p.comm_ctas = 1, p.sms += 10; }},
      {"tasks", [](Plan& p) { p.task_parts = p.ranks; }},
      {"neighbours", [](Plan& p) { p.neighbours = 1; }},
      {"a consumer of tiles", [](Plan& p) { p.consumer = TILEPOST_CONSUMER_UNPERMUTE; }},
      {"another access", [](Plan& p) { p.access = TILEPOST_ACCESS_WRITE; }},
      {"messages", [](Plan& p) { p.access = TILEPOST_ACCESS_MESSAGES; }},
      {"shares", [](Plan& p) { p.map.division = TILEPOST_DIVISION_SHARES; }},
      {"shares of the rows", [](Plan& p) { p.map.ranks = p.ranks; }},
      {"turns", [](Plan& p) { p.map.stagger = 8; }},
      {"a kernel without roles", [](Plan& p) { p.source.exchanges_tiles = false; }},
      {"no helper warps", [](Plan& p) { p.source.tunables.erase("HELPER_WARPS"); }},
      {"boxes the kernel does not know", [](Plan& p) { p.kernel.box_c.rows *= 2; }},
      {"the kernel's boxes", [](Plan& p) { p.source.tunables["BOX_M"] = "7"; }},
      {"too many ranks", [](Plan& p) { p.ranks = TILEPOST_MOST_EXCHANGING + 1; }},
      {"a single rank", [](Plan& p) { p.ranks = 1; }},
  };
  for (const tilepost_shots_t shots : kShots)
    for (const auto& [what, change] : mutants) {
      INFO(shots << " shots, " << what);
      REQUIRE(said_of(exchanging(200, shots), change) != "");
    }
}

TEST_CASE("caught: a norm of rows that nobody waits for, and a kernel that waits for no norm") {
  const Plan norm = normalising(TILEPOST_ONE_SHOT, TILEPOST_CONSUMER_RMS_NORM);
  REQUIRE(said_of(norm, [](Plan& p) { p.source.tunables.erase("LENDS"); }).find("wait for") !=
          std::string::npos);
  REQUIRE(said_of(norm, [](Plan& p) {
            p.consumer = TILEPOST_CONSUMER_NONE;
          }).find("need no panels") != std::string::npos);
  REQUIRE(said_of(norm, [](Plan& p) { p.pattern = TILEPOST_GEMM_ALL_TO_ALL; }) != "");
  for (const tilepost_shots_t shots : kShots)
    REQUIRE(said_of(normalising(shots, TILEPOST_CONSUMER_RESIDUAL_RMS_NORM), [](Plan& p) {
              p.consumer = TILEPOST_CONSUMER_UNPERMUTE;
            }).find("consumer unpermute") != std::string::npos);
}

TEST_CASE("caught: several groups of tiles that are exchanged") {
  REQUIRE(said_of(exchanging(256, TILEPOST_TWO_SHOT), [](Plan& p) {
            p.set_cuts({1, 2});
            p.group_waves = {0, p.waves};
            p.set_tile_map(build_tile_map(p.map));
          }).find("beside 2 groups") != std::string::npos);
}

// Such boxes are wrong even where kernel and tensor map agree on them.
TEST_CASE("caught: boxes that are no part of what a CTA owns") {
  const auto with_box = [](int rows) {
    return [rows](Plan& p) {
      p.kernel.box_c.rows = rows;
      p.source.tunables["BOX_M"] = std::to_string(rows);
    };
  };
  for (const tilepost_shots_t shots : kShots) {
    const Plan p = exchanging(96, shots);  // tiles have 96 rows
    REQUIRE(p.map.tile_m / p.source.split_k == 96);
    for (const int rows : {8, 16, 24, 32, 48, 96}) REQUIRE(said_of(p, with_box(rows)) == "");
    for (const int rows : {0, 12, 40, 64, 192})
      REQUIRE(said_of(p, with_box(rows)).find("no whole boxes") != std::string::npos);
  }
}

TEST_CASE("caught: a tile that is exchanged twice, and one that is not") {
  for (const tilepost_shots_t shots : kShots)
    REQUIRE(said_of(exchanging(64, shots),
                    [](Plan& p) { p.own_tile_map().tiles[1] = p.own_tile_map().tiles[0]; }) != "");
}

TEST_CASE("caught: shots of a plan that exchanges no tiles") {
  const Plan p = only(few_rows(64, TILEPOST_TRANSPORT_NONE));
  REQUIRE(said_of(p, [](Plan& q) { q.shots = TILEPOST_ONE_SHOT; }) != "");
}

// What ranks exchange has 16 bits, with and without a norm, and the kernel is that of a plan whose
// output has 16 bits.
TEST_CASE("few rows that are quantised are exchanged in 16 bits, and a pass follows the kernel") {
  for (const tilepost_pattern_t pattern :
       {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_GEMM_ALL_TO_ALL})
    for (const tilepost_shots_t shots : kShots)
      for (const bool norm : {false, true}) {
        const PatternRow& row = row_of(pattern);
        if ((shots == TILEPOST_TWO_SHOT && !row.product_spreads()) || (norm && !row.sums)) continue;
        Spec spec = spec_of(pattern, TILEPOST_TRANSPORT_PEER_TILES, 64);
        spec.schedule.shots = wish(std::optional(shots));
        const Plan plain = only(spec);
        spec.gemm.out.value = TILEPOST_E4M3;
        if (norm) spec.consumer.value = TILEPOST_CONSUMER_RMS_NORM;
        const Plan p = only(spec);
        INFO(name_of(pattern) << " in " << static_cast<int>(shots) << " shots, norm " << norm);
        REQUIRE(p.consumer == (norm ? TILEPOST_CONSUMER_RMS_NORM : TILEPOST_CONSUMER_QUANTISE));
        REQUIRE(p.output == TILEPOST_BF16);
        REQUIRE(p.source.tunables == plain.source.tunables);
        const RunPath path = paths_of(p).planned;
        REQUIRE(!path.normalises);
        REQUIRE(path.consumes);
        REQUIRE(path.results == (shots == TILEPOST_TWO_SHOT ? Buffer::landed : Buffer::received));
        REQUIRE(verify_plan(p).empty());
        REQUIRE(verify_plan(host_twin(p)) == std::vector<std::string>{});
        CHECK(said_of(p, [](Plan& q) { q.consumer = TILEPOST_CONSUMER_NONE; }) != "");
      }
  Spec open = few_rows(64, std::nullopt);
  open.gemm.out.value = TILEPOST_E4M3;
  CHECK(only(open).planned_transport == TILEPOST_TRANSPORT_PEER_TILES);
  Spec gathered = spec_of(TILEPOST_ALL_GATHER_GEMM, std::nullopt, 64);
  gathered.gemm.out.value = TILEPOST_E4M3;  // whose kernel would have to quantise
  CHECK(only(gathered).planned_transport != TILEPOST_TRANSPORT_PEER_TILES);
}

}  // namespace
}  // namespace tilepost::test
