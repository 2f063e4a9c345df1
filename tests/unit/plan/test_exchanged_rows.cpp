// transport: peer_tiles of all_gather_gemm, whose kernels exchange rows of A: when it is planned,
// the plan, and what verify_plan notices in wrong plans.
#include <functional>

#include "generator/plan/choose/plan_of_run.h"
#include "generator/plan/kernels/kernels.h"
#include "generator/plan/kernels/sm90_small/sm90_small.h"
#include "generator/plan/report/memory.h"
#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"
#include "tilepost/internal/row_parts.h"

namespace tilepost::test {
namespace {

Spec few_rows(int64_t m, std::optional<tilepost_transport_t> transport) {
  return spec_of(TILEPOST_ALL_GATHER_GEMM, transport, m);
}

// A machine on which up to `rows` rows were timed.
MachineProfile machine_for(int64_t rows) {
  MachineProfile profile = default_machine();
  profile.peers.tiles.most_gathered_rows = rows;
  return profile;
}

Plan gathering(int64_t m, int ranks = 4) {
  Spec spec = few_rows(m, TILEPOST_TRANSPORT_PEER_TILES);
  spec.ranks.value = ranks;
  return only(spec);
}

TEST_CASE("few rows of A are exchanged unasked where that was timed") {
  const auto chosen = [](int64_t m, int64_t timed) {
    const Planned planned = plan(few_rows(m, std::nullopt), machine_for(timed));
    INFO(planned.messages);
    REQUIRE(planned.plans.size() == 1);
    return planned.plans.front().planned_transport;
  };
  for (const int64_t m : {1, 64, 256, 1024}) {
    CHECK(chosen(m, 1024) == TILEPOST_TRANSPORT_PEER_TILES);
    CHECK(chosen(m, m - 1) != TILEPOST_TRANSPORT_PEER_TILES);
  }
  REQUIRE(default_machine().peers.tiles.most_gathered_rows <= kMostExchangedRows);
}

TEST_CASE("the kernel gathers rows of A, and is the whole run") {
  const Plan p = gathering(1024);
  REQUIRE(p.access == TILEPOST_ACCESS_TILES);
  REQUIRE(p.shots == TILEPOST_ONE_SHOT);
  REQUIRE(p.pushes == 1);
  REQUIRE(p.task_parts == 0);
  REQUIRE(p.comm_ctas == 0);
  REQUIRE(p.map.division == TILEPOST_DIVISION_ARRIVALS);
  REQUIRE(p.map.ranks == 4);
  REQUIRE(p.map.round_robin == 0);
  REQUIRE(p.cuts() == std::vector<int32_t>{0, 2});  // own rows; two tile rows of each other rank
  REQUIRE(p.kernel.name == std::string("gemm_sm90_small"));
  REQUIRE(p.kernel.early);
  REQUIRE(p.source.tunables.at("HELPER_WARPS") == "4");
  REQUIRE(p.source.tunables.count("LENDS") == 0);
  REQUIRE(p.tile_map().groups.front().num_tiles == 2 * 64);  // own rows first
  const RunPath path = paths_of(p).planned;
  REQUIRE(path.whole_run);
  REQUIRE(path.kernel_does_all);
  REQUIRE(path.reads == InputFrom::split);
  REQUIRE(path.stores == Buffer::out);
  REQUIRE(path.results == Buffer::out);
}

// Rows of e4m3 whose blocks have scales.
Spec scaled_rows(int64_t m, std::optional<tilepost_transport_t> transport) {
  Spec spec = few_rows(m, transport);
  spec.gemm.a.value = TILEPOST_E4M3;
  spec.gemm.scales.value = TILEPOST_SCALES_BLOCKS;
  spec.gemm.out.value = TILEPOST_BF16;
  return spec;
}

TEST_CASE("scales of blocks travel with the rows of A, unasked too where that was timed") {
  for (const int64_t m : {1, 64, 256, 1024}) {
    const Planned planned = plan(scaled_rows(m, std::nullopt), machine_for(1024));
    INFO(m << " rows: " << planned.messages);
    REQUIRE(planned.plans.size() == 1);
    const Plan& p = planned.plans.front();
    REQUIRE(p.planned_transport == TILEPOST_TRANSPORT_PEER_TILES);
    REQUIRE(p.source.tunables.at("SCALES") == "1");
    // A row of 2048 bytes has 16 scales, and these come behind all rows.
    REQUIRE(planned_memory(p).front().name == std::string("gathered"));
    REQUIRE(planned_memory(p).front().bytes == 2 * m * (2048 + 64));
  }
  const double alone = [] {
    Spec spec = scaled_rows(1024, TILEPOST_TRANSPORT_PEER_TILES);
    spec.gemm.scales.value = TILEPOST_SCALES_NONE;
    return only(spec).prediction.total;
  }();
  CHECK(only(scaled_rows(1024, TILEPOST_TRANSPORT_PEER_TILES)).prediction.total > alone);
}

TEST_CASE("scales of rows of any length are in right plans, on GPUs and on the host") {
  for (const int ranks : {2, 3, 8})
    for (const int64_t m : {1, 9, 300, 1023})
      for (const int64_t k : {16, 128, 400, 1136, 2048}) {
        Spec spec = scaled_rows(m, TILEPOST_TRANSPORT_PEER_TILES);
        spec.ranks.value = ranks;
        spec.gemm.k.value = k;
        const Plan p = only(spec);
        INFO(m << " rows of " << k << " on " << ranks << " ranks");
        REQUIRE(verify_plan(p).empty());
        REQUIRE(verify_plan(host_twin(p)) == std::vector<std::string>{});
        spec.archs.value = {Arch::host};
        spec.gemm.k.value = k + 5;  // units of single elements
        REQUIRE(verify_plan(only(spec)).empty());
      }
  const auto columns = [](Plan& p) { p.scales_a = TILEPOST_SCALES_COLUMNS; };
  CHECK(said_of(only(scaled_rows(300, TILEPOST_TRANSPORT_PEER_TILES)), columns) != "");
}

TEST_CASE("every few rows of A get a right plan, of one m and of any, and so does the host") {
  for (const int ranks : {2, 3, 4, 8})
    for (const int64_t m : {1, 3, 8, 9, 33, 64, 65, 100, 129, 300, 1023, 2048})
      for (const int64_t n : {8, 2048})
        for (const bool any_m : {false, true}) {
          Spec spec = few_rows(m, TILEPOST_TRANSPORT_PEER_TILES);
          spec.ranks.value = ranks;
          spec.gemm.n.value = n;
          spec.gemm.k.value = m % 2 == 0 ? 2048 : 24;
          spec.gemm.any_m = any_m;
          const Planned planned = plan(spec);
          INFO(m << "x" << n << " on " << ranks << " ranks: " << planned.messages);
          REQUIRE(planned.plans.size() == 1);
          const Plan& p = planned.plans.front();
          REQUIRE(p.cuts().size() == 2);
          REQUIRE(verify_plan(p).empty());
          const Plan twin = host_twin(p);
          REQUIRE(twin.access == TILEPOST_ACCESS_TILES);
          REQUIRE(verify_plan(twin) == std::vector<std::string>{});
        }
}

TEST_CASE("any number of rows of A is gathered in one group, or in sequence") {
  Spec spec = few_rows(1024, TILEPOST_TRANSPORT_PEER_TILES);
  spec.gemm.any_m = true;
  const Plan p = only(spec);
  for (int64_t m = 1; m <= 1024; m += m < 140 ? 1 : 41) {
    const Plan run = plan_of_run(p, m);
    INFO(m << " rows");
    REQUIRE(run.transport == TILEPOST_TRANSPORT_PEER_TILES);
    REQUIRE(run.cuts().size() == 2);
    REQUIRE(verify_plan(run).empty());
  }
  const Planned open_plans = plan(
      [&] {
        Spec open = spec;
        open.transport.value = std::nullopt;
        return open;
      }(),
      machine_for(1024));
  REQUIRE(open_plans.plans.size() == 1);
  Plan open = open_plans.plans.front();
  REQUIRE(open.planned_transport == TILEPOST_TRANSPORT_PEER_TILES);
  REQUIRE(open.model.sequence_ctas > 0);
  open.model.latency += 1000;
  const Plan run = plan_of_run(open, 16);
  REQUIRE(run.transport == TILEPOST_TRANSPORT_NONE);
  REQUIRE(verify_plan(run).empty());
}

// 64 rows of 2048 elements on four ranks: 16 rows and 4096 units of sixteen bytes on each.
TEST_CASE("memory of rows that are exchanged: all of them twice, and flags") {
  const auto bytes = [](const Plan& p, const std::string& name) {
    for (const PlannedMemory& part : planned_memory(p))
      if (part.name == name) return part.bytes;
    return int64_t{0};
  };
  const Plan p = gathering(64);
  REQUIRE(bytes(p, "gathered") == 2 * 64 * 2048 * 2);
  REQUIRE(bytes(p, "slots") == 0);
  REQUIRE(bytes(p, "flags") == 2 * 2 * 112 * 8 * 4);  // the largest number that few rows may take
}

TEST_CASE("gathering takes the longer the more rows there are, and the later they come") {
  double last = 0;
  for (const int64_t m : {2, 64, 256, 1024}) {
    const double now = gathering(m).prediction.total;
    CHECK(now > last);
    last = now;
  }
  MachineProfile slow = default_machine();
  slow.peers.tiles.rows_latency_us += 10;
  const Plan p = plan(few_rows(64, TILEPOST_TRANSPORT_PEER_TILES), slow).plans.front();
  CHECK(p.prediction.total - gathering(64).prediction.total == Approx(10));
}

TEST_CASE("caught: a plan that exchanges rows of A and has what does not go with it") {
  const std::pair<const char*, std::function<void(Plan&)>> mutants[] = {
      {"no shot", [](Plan& p) { p.shots = TILEPOST_SHOTS_NONE; }},
      {"two shots", [](Plan& p) { p.shots = TILEPOST_TWO_SHOT; }},
      {"lines", [](Plan& p) { p.shots = TILEPOST_ONE_SHOT_LINES; }},
      {"pushes nothing", [](Plan& p) { p.pushes = 0; }},
      {"tasks", [](Plan& p) { p.task_parts = 1; }},
      {"SMs beside it", [](Plan& p) { p.comm_ctas = 1, p.sms += 10; }},
      {"neighbours", [](Plan& p) { p.neighbours = 1; }},
      {"another access", [](Plan& p) { p.access = TILEPOST_ACCESS_WRITE; }},
      {"bands of rows", [](Plan& p) { p.map.division = TILEPOST_DIVISION_ROWS; }},
      {"no shares", [](Plan& p) { p.map.ranks = 1; }},
      {"shares in turns", [](Plan& p) { p.map.round_robin = 1; }},
      {"a kernel without roles", [](Plan& p) { p.source.exchanges_tiles = false; }},
      {"no helper warps", [](Plan& p) { p.source.tunables.erase("HELPER_WARPS"); }},
      {"a single rank", [](Plan& p) { p.ranks = 1; }},
      {"rows that are no units", [](Plan& p) { p.k += 1; }},
      {"rows in two groups",
       [](Plan& p) {
         p.set_cuts({0, 1, p.cuts().back() + 1});
         p.set_tile_map(build_tile_map(p.map));
       }},
  };
  for (const auto& [what, change] : mutants) {
    INFO(what);
    CHECK(said_of(gathering(300), change) != "");
  }
}

// 512 rows on four ranks in tiles of 128: each rank has one tile row of 64 tiles.
TEST_CASE("caught: tiles that do not wait for rows of others, or wait for their own") {
  const Plan p = gathering(512);
  REQUIRE(p.map.tile_m == 128);
  const auto swap_groups = [](Plan& q) {
    std::vector<tilepost_tile_t>& tiles = q.own_tile_map().tiles;
    std::swap(tiles.front().m, tiles.back().m);
    std::swap(tiles.front().row, tiles.back().row);
    std::swap(q.own_tile_map().positions.front(), q.own_tile_map().positions.back());
  };
  CHECK(said_of(p, swap_groups) != "");
  const auto later = [](Plan& q) {
    q.own_tile_map().tiles.front().group = 1;
    q.own_tile_map().groups[0].first_tile = 0;
  };
  CHECK(said_of(p, later) != "");
}

// The functions of the kernels against every single row and unit.
TEST_CASE("parts of rows: each unit is in one, and a row's are those that have any of it") {
  for (const int ranks : {2, 3, 8})
    for (const int rows : {1, 5, 16, 61, 300})
      for (const int row_units : {1, 3, 64, 257})
        for (const int part_units : {128, 512}) {
          const RowParts parts{ranks, rows, row_units, part_units};
          const int share = (rows + ranks - 1) / ranks;
          for (int rank = 0; rank < ranks; ++rank) {
            const int own = std::clamp(rows - rank * share, 0, share);
            REQUIRE(parts.units(rank) == own * row_units);
            int end = 0;
            for (int part = 0; part < parts.parts_of(own * row_units); ++part) {
              REQUIRE(part * part_units == end);
              end = parts.end_of(part, own * row_units);
            }
            REQUIRE(end == own * row_units);
            for (int first = 0; first < rows; first += 7) {
              const int last = std::min(first + 16, rows) - 1;
              const SomeParts some = parts.with_rows(rank, first, last + 1);
              const int begin = std::max(first, rank * share) - rank * share;
              const int stop = std::min(last, rank * share + own - 1) - rank * share;
              REQUIRE((some.count == 0) == (begin > stop));
              if (begin > stop) continue;
              REQUIRE(some.first == begin * row_units / part_units);
              REQUIRE(some.first + some.count - 1 == ((stop + 1) * row_units - 1) / part_units);
            }
          }
        }
}

// The functions of the kernels against every single block.
TEST_CASE("parts of rows bring each scale once, with the first unit of its block") {
  for (const int rows : {1, 5, 61})
    for (const int row_units : {1, 9, 64, 257})
      for (const int block_units : {8, 128})
        for (const int part_units : {128, 512}) {
          const RowParts parts{3, rows, row_units, part_units};
          const PartScales scales{parts, block_units};
          for (int rank = 0; rank < 3; ++rank) {
            const int units = parts.units(rank);
            std::vector<int> part_of;  // by scale
            for (int unit = 0; unit < units; ++unit)
              if (unit % row_units % block_units == 0) part_of.push_back(unit / part_units);
            size_t brought = 0;
            for (int part = 0; part < parts.parts_of(units); ++part) {
              const SomeScales some = scales.with_part(part, units);
              REQUIRE(some.first == static_cast<int>(brought));
              for (int i = some.first; i < some.end; ++i) REQUIRE(part_of.at(brought++) == part);
            }
            REQUIRE(brought == part_of.size());
          }
        }
}

}  // namespace
}  // namespace tilepost::test
