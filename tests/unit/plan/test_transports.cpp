// Transports that read or write other ranks' memory: the plan, its memory, and the text of explain.
// test_transport_times.cpp has the predicted times.
#include "generator/emit/plan_json.h"
#include "generator/plan/choose/draft.h"
#include "generator/plan/kernels/sm90/sm90.h"
#include "generator/plan/report/memory.h"
#include "generator/plan/transports/transports.h"
#include "runtime/schedule/groups.h"
#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

TEST_CASE("access, division and shares follow the transport") {
  for (const tilepost_transport_t transport : kOfManyRows)
    for (const tilepost_pattern_t pattern : kCommunicating)
      for (const Arch arch : {Arch::sm_90a, Arch::host}) {
        INFO(name_of(transport) << " " << name_of(pattern) << " " << name_of(arch));
        if (transport == TILEPOST_TRANSPORT_NCCL_SYMMETRIC && row_of(pattern).input_is_routed())
          continue;  // the spec's rules do not allow it
        const Plan p = only(spec_of(pattern, transport, 1000, 512, arch));
        REQUIRE(p.planned_transport == transport);
        const bool reads = transport == TILEPOST_TRANSPORT_COPY_ENGINE;
        const bool writes = transport == TILEPOST_TRANSPORT_PEER;
        REQUIRE(p.access == (reads    ? TILEPOST_ACCESS_READ
                             : writes ? TILEPOST_ACCESS_WRITE
                                      : TILEPOST_ACCESS_MESSAGES));
        const bool shares = reads || writes;
        if (pattern == TILEPOST_GEMM_ALL_REDUCE) {
          REQUIRE(p.map.division == (shares ? TILEPOST_DIVISION_SHARES : TILEPOST_DIVISION_ROWS));
          REQUIRE(p.map.ranks == (shares ? 4 : 1));
        }
        const bool staggers = shares && p.map.division == TILEPOST_DIVISION_SHARES;
        REQUIRE(p.map.stagger == (staggers ? p.at_once() : 0));
        const bool gathers = row_of(pattern).moves_input();
        REQUIRE((p.pace > 0) == (writes && !gathers && arch == Arch::sm_90a));
        REQUIRE(p.pushes == (gathers ? shares : writes && pattern == TILEPOST_GEMM_ALL_REDUCE));
        REQUIRE((p.transport == TILEPOST_TRANSPORT_HOST) ==
                (arch == Arch::host && transport != TILEPOST_TRANSPORT_NONE));
        const Plan twin = host_twin(p);
        REQUIRE(twin.access == p.access);
        REQUIRE(twin.map.stagger == p.map.stagger);
        REQUIRE(twin.pace == 0);
        REQUIRE(twin.pushes == p.pushes);
        REQUIRE(verify_plan(twin) == std::vector<std::string>{});
      }
}

TEST_CASE("ragged shapes have verified plans on any number of ranks, and so have their runs") {
  for (const tilepost_transport_t transport : kSharing)
    for (const tilepost_pattern_t pattern : kCommunicating)
      for (const int64_t m : {1, 129, 1000})
        for (const int64_t ranks : {1, 2, 3, 8}) {
          Spec spec = spec_of(pattern, transport, m, 264);
          spec.gemm.n.value = 1032;
          spec.ranks.value = ranks;
          spec.gemm.any_m = m == 1000;
          INFO(name_of(transport) << " " << name_of(pattern) << " " << m << " rows, " << ranks);
          const Plan p = only(spec);
          CHECK(verify_plan(host_twin(p)) == std::vector<std::string>{});
          if (!p.any_m) continue;
          for (const int64_t rows : {1, 7, 300, 999})
            CHECK(verify_plan(plan_of_run(p, rows)) == std::vector<std::string>{});
        }
}

TEST_CASE("routed rows are read, all rows of a rank in the groups that have them") {
  for (const tilepost_routing_t routing :
       {TILEPOST_ROUTING_EVEN, TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS}) {
    Spec spec = spec_of(TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_TRANSPORT_COPY_ENGINE);
    spec.routing.value = routing;
    const Plan p = only(spec);
    INFO(name_of(routing));
    REQUIRE(p.map.division ==
            (routing == TILEPOST_ROUTING_ROWS ? TILEPOST_DIVISION_ROWS : TILEPOST_DIVISION_SHARES));
    REQUIRE((p.map.stagger > 0) == (routing != TILEPOST_ROUTING_ROWS));
  }
}

TEST_CASE("peer stores come from a kernel that stages whole tiles, unless the spec says which") {
  for (const tilepost_pattern_t pattern : {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_ALL_TO_ALL}) {
    const Plan p = only(spec_of(pattern, TILEPOST_TRANSPORT_PEER));
    REQUIRE(p.kernel.name == std::string("gemm_sm90"));
    const auto tunable = [&](const char* name) { return std::stoi(p.source.tunables.at(name)); };
    REQUIRE(p.source.tunables.at("PINGPONG") == "0");
    const int across = p.source.across;
    const int panels =
        p.map.tile_m / tunable("PANEL_M") * (p.map.tile_n / across / tunable("PANEL_N")) / 2;
    REQUIRE(tunable("PANELS") == panels);
    // The pace for each panel of a consumer's part: 0.9 of the cycles that its products take at
    // 2048 a cycle.
    const double products = static_cast<double>(p.map.tile_m) * p.map.tile_n / across * 2048;
    REQUIRE(std::abs(p.pace - 0.9 * products / 2048 / panels) <= 1);
  }
  Spec asked = spec_of(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_PEER);
  asked.schedule.stages = wish<int64_t>(4);
  asked.schedule.tile = wish(std::vector<int64_t>{256, 128});
  REQUIRE(only(asked).source.tunables.at("PANELS") == "2");
}

TEST_CASE("8-bit inputs pass twice as fast, and so do their stores") {
  Spec spec = spec_of(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_PEER);
  spec.schedule.tile = wish(std::vector<int64_t>{128, 192});
  const int pace = only(spec).pace;
  spec.gemm.a.value = spec.gemm.b.value = TILEPOST_E4M3;
  REQUIRE(std::abs(2 * only(spec).pace - pace) <= 2);
}

// Such sums replace tasks. The order has as many positions between a source and its own tile as
// CTAs compute at a time.
TEST_CASE("sums of a share are made in the epilogue of its owner's tiles") {
  const auto pattern = GENERATE(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_GEMM_ALL_REDUCE);
  for (const int64_t k : {1024, 8192}) {
    Spec spec = make_spec(8192, 8192, k);
    spec.pattern.value = pattern;
    spec.transport.value = TILEPOST_TRANSPORT_PEER;
    spec.ranks.value = 2;
    const Plan p = only(spec);
    INFO(k);
    REQUIRE((p.fused == 1 && p.task_parts == 0 && p.whole_run == 1 && p.cuts().size() == 1));
    REQUIRE(p.source.tunables.at("SOURCES") == "1");
    REQUIRE(p.source.tunables.at("HELPER_BYTES") == "0");
    REQUIRE(p.map.turn % p.map.cluster == 0);
    REQUIRE(p.map.lag * p.ranks * p.map.turn <= p.at_once());
    REQUIRE(p.map.lag * p.ranks * (p.map.turn + p.map.cluster) > p.at_once());
    REQUIRE(p.pushes == (pattern == TILEPOST_GEMM_ALL_REDUCE ? 1 : 0));
    REQUIRE(verify_plan(p).empty());
    const std::pair<const char*, std::function<void(Plan&)>> mutants[] = {
        {"no turns", [](Plan& q) { q.map.turn = 0; }},
        {"another number of sources", [](Plan& q) { q.source.tunables["SOURCES"] = "9"; }},
        {"no sources", [](Plan& q) { q.source.tunables.erase("SOURCES"); }},
        {"tasks too", [](Plan& q) { q.task_parts = q.ranks; }},
        {"no fused sum", [](Plan& q) { q.fused = 0; }},
        {"other pushes", [](Plan& q) { q.pushes ^= 1; }},
        {"sums as they arrive", [](Plan& q) { q.sum = TILEPOST_SUM_ADDED; }},
    };
    for (const auto& [what, change] : mutants) {
      INFO(what);
      Plan mutant = p;
      change(mutant);
      REQUIRE_FALSE(verify_plan(mutant).empty());
    }
  }
}

TEST_CASE("tiles of an All-to-All go straight into the outputs of the ranks that get them") {
  for (const int64_t n : {8192, 8200}) {
    Spec spec = make_spec(8192, n, 4096);
    spec.pattern.value = TILEPOST_GEMM_ALL_TO_ALL;
    spec.transport.value = TILEPOST_TRANSPORT_PEER;
    spec.ranks.value = 2;
    INFO(n);
    REQUIRE((only(spec).fused == 0 && only(spec).task_parts == 1));
    spec.registered.value = true;
    const Plan p = only(spec);
    REQUIRE((p.fused == 1 && p.task_parts == 0 && p.whole_run == 1 && p.cuts().size() == 1));
    REQUIRE((p.pushes == 1 && p.row_gap == 0));
    REQUIRE(p.source.tunables.at("FUSED") == "1");
    REQUIRE(p.source.tunables.count("SOURCES") == 0);
    const RunPath path = path_of(p, true);
    REQUIRE((path.is_fused && path.lends_out && path.copies_landed()));
    REQUIRE(verify_plan(p).empty());
    const Plan twin = host_twin(p);
    REQUIRE((twin.task_parts == 1 && twin.pushes == 0 && verify_plan(twin).empty()));
    const std::pair<const char*, std::function<void(Plan&)>> mutants[] = {
        {"no turns", [](Plan& q) { q.map.turn = 0; }},
        {"sources", [](Plan& q) { q.source.tunables["SOURCES"] = "1"; }},
        {"nobody begins the run", [](Plan& q) { q.source.tunables.erase("FUSED"); }},
        {"tasks too", [](Plan& q) { q.task_parts = 1; }},
        {"not fused", [](Plan& q) { q.fused = 0; }},
        {"no pushes", [](Plan& q) { q.pushes = 0; }},
        {"gaps in an output", [](Plan& q) { q.row_gap = 8; }},
    };
    for (const auto& [what, change] : mutants) {
      INFO(what);
      Plan mutant = p;
      change(mutant);
      REQUIRE_FALSE(verify_plan(mutant).empty());
    }
  }
}

TEST_CASE("CTAs that share a tile store their columns of it meanwhile") {
  Spec spec = spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER);
  spec.schedule.tile = wish(std::vector<int64_t>{128, 384});
  const Plan shared = only(spec);
  REQUIRE(shared.source.tunables.at("ACROSS") == "2");
  spec.schedule.tile = wish(std::vector<int64_t>{128, 192});
  REQUIRE(shared.pace == only(spec).pace);
}

TEST_CASE("few rows have a kernel that stores to peers") {
  for (const int64_t m : {1, 16, 64, 256})
    REQUIRE(only(spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER, m)).kernel.name ==
            std::string("gemm_sm90"));
  Spec small = spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER, 16);
  small.schedule.tile = wish(std::vector<int64_t>{16, 64});
  const Planned planned = plan(small);
  INFO(planned.messages);
  REQUIRE(planned.plans.empty());
  REQUIRE(planned.messages.find("tile '16x64' is not available on sm_90a; of ") !=
          std::string::npos);
  REQUIRE(planned.messages.find(" tiles the nearest are 32x64 (12 stages), ") != std::string::npos);
}

TEST_CASE("rows that TMA cannot address are not stored to peers") {
  Spec spec = spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER, 8192, 2047);
  const Planned planned = plan(spec);
  INFO(planned.messages);
  REQUIRE(planned.plans.empty());
  REQUIRE(
      planned.messages.find("transport 'peer' stores with TMA, but gemm_sm90 needs K a multiple "
                            "of 8, not 2047; use copy_engine or nccl") != std::string::npos);
  spec.transport.value = TILEPOST_TRANSPORT_COPY_ENGINE;
  REQUIRE(only(spec).kernel.name == std::string("gemm_sm80"));
  spec.transport.value = std::nullopt;
  REQUIRE(only(spec).planned_transport != TILEPOST_TRANSPORT_PEER);
}

TEST_CASE("sums that are added have a kernel of their own and no run in sequence") {
  Spec spec = spec_of(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_PEER);
  REQUIRE(only(spec).sum == TILEPOST_SUM_STAGED);
  REQUIRE(only(spec).source.tunables.at("ADD") == "0");
  spec.schedule.sum.value = TILEPOST_SUM_ADDED;
  spec.gemm.any_m = true;
  const Plan p = only(spec);
  REQUIRE(p.sum == TILEPOST_SUM_ADDED);
  REQUIRE(p.source.tunables.at("ADD") == "1");
  REQUIRE(p.sum == TILEPOST_SUM_ADDED);
  for (const int64_t m : {1, 100, 8192}) REQUIRE(schedule_for(p, m).overlaps);
  REQUIRE(host_twin(p).sum == TILEPOST_SUM_STAGED);
  spec.archs.value = {Arch::host};
  REQUIRE(only(spec).sum == TILEPOST_SUM_STAGED);
}

TEST_CASE("the SMs left free are few, and lanes take none of them") {
  for (const tilepost_transport_t transport : kSharing)
    for (const tilepost_pattern_t pattern : kCommunicating) {
      const Plan p = only(spec_of(pattern, transport));
      INFO(name_of(transport) << " " << name_of(pattern));
      const bool alone = (p.task_parts > 0 || p.fused != 0) && transport == TILEPOST_TRANSPORT_PEER;
      REQUIRE(p.gemm_ctas + p.comm_ctas + (alone ? 0 : 1) <= 132);
      REQUIRE(p.gemm_ctas % p.map.cluster == 0);
      if (alone)
        REQUIRE(p.gemm_ctas == 132);
      else if (row_of(pattern).sums && p.task_parts == 0)
        REQUIRE(p.comm_ctas <= 11);
      else
        REQUIRE(p.comm_ctas == 1);
      REQUIRE(p.comm_lanes <= (row_of(pattern).moves_input() ? 1 : 3));
      REQUIRE(p.cuts().size() < 4096);
    }
  Spec spec = spec_of(TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_TRANSPORT_COPY_ENGINE);
  spec.schedule.lanes = wish<int64_t>(4);
  const Plan p = only(spec);
  REQUIRE(p.comm_lanes == 4);
  REQUIRE(p.comm_ctas == 1);
}

TEST_CASE("helper warps add up and move, unless SMs are asked for, or sums are added at once") {
  const auto parts = [](tilepost_pattern_t pattern, tilepost_transport_t transport, auto change) {
    Spec spec = spec_of(pattern, transport);
    change(spec);
    return only(spec).task_parts;
  };
  const auto nothing = [](Spec&) {};
  const auto sms = [](Spec& spec) { spec.schedule.comm_sms = wish<int64_t>(7); };
  // A tile that is computed transposed has no panels to add sources to.
  const auto transposed = [](Spec& spec) {
    spec.schedule.tile = wish(std::vector<int64_t>{144, 128});
  };
  CHECK(parts(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_PEER, transposed) == 4);
  CHECK(parts(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER, nothing) == 4);
  CHECK(parts(TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_TRANSPORT_PEER, nothing) == 1);
  for (const tilepost_pattern_t pattern : {TILEPOST_ALL_GATHER_GEMM, TILEPOST_ALL_TO_ALL_GEMM})
    for (const tilepost_transport_t transport : kSharing) {
      // The kernel reads own rows where the caller has them.
      const bool read_there = pattern == TILEPOST_ALL_GATHER_GEMM;
      const bool copied = transport == TILEPOST_TRANSPORT_COPY_ENGINE;
      CHECK(parts(pattern, transport, nothing) == (read_there && copied ? 0 : 1));
    }
  CHECK(parts(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_COPY_ENGINE, nothing) == 0);
  CHECK(parts(TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_TRANSPORT_COPY_ENGINE, nothing) == 0);
  CHECK(parts(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_PEER, sms) == 0);
  CHECK(parts(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_PEER,
              [](Spec& spec) { spec.schedule.sum.value = TILEPOST_SUM_ADDED; }) == 0);
  // There is no room with 192 sums in a thread, or with four stages and two panels.
  CHECK(parts(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_PEER, [](Spec& spec) {
          spec.schedule.tile = wish(std::vector<int64_t>{256, 128});
          spec.schedule.stages = wish<int64_t>(4);
        }) == 0);
  CHECK(parts(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_PEER,
              [](Spec& spec) { spec.archs.value = {Arch::host}; }) == 0);
}

TEST_CASE("sums are pushed by helper warps, and pulled where kernels add") {
  const auto pushes = [](auto change) {
    Spec spec = spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER);
    change(spec);
    const Plan p = only(spec);
    CHECK(host_twin(p).pushes == p.pushes);
    CHECK(verify_plan(host_twin(p)) == std::vector<std::string>{});
    return p.pushes;
  };
  CHECK(pushes([](Spec&) {}));
  CHECK(pushes([](Spec& spec) { spec.archs.value = {Arch::host}; }));
  CHECK_FALSE(pushes([](Spec& spec) { spec.schedule.comm_sms = wish<int64_t>(7); }));
  CHECK_FALSE(pushes([](Spec& spec) { spec.schedule.sum.value = TILEPOST_SUM_ADDED; }));
  CHECK_FALSE(pushes([](Spec& spec) { spec.transport.value = TILEPOST_TRANSPORT_COPY_ENGINE; }));
  Spec few = spec_of(TILEPOST_GEMM_ALL_REDUCE, std::nullopt);
  few.gemm.any_m = true;
  CHECK_FALSE(plan_of_run(only(few), 1).pushes);  // too small for overlap
}

TEST_CASE("rows of A are pushed by kernels with a helper warp, or the spec is told why not") {
  const tilepost_pattern_t pattern = GENERATE(TILEPOST_ALL_GATHER_GEMM, TILEPOST_ALL_TO_ALL_GEMM);
  const auto refused = [&](const char* words, auto change) {
    Spec spec = spec_of(pattern, TILEPOST_TRANSPORT_PEER);
    change(spec);
    const Planned planned = plan(spec);
    INFO(planned.messages);
    CHECK(planned.plans.empty());
    CHECK(planned.messages.find(words) != std::string::npos);
    CHECK(planned.messages.find("use copy_engine") != std::string::npos);
  };
  refused("6 stages leave the kernel no helper warp", [](Spec& spec) {
    spec.schedule.tile = wish(std::vector<int64_t>{104, 128});
    spec.schedule.stages = wish<int64_t>(6);
  });
  refused("tile '256x192' leaves the kernel no helper warp", [](Spec& spec) {
    spec.schedule.tile = wish(std::vector<int64_t>{256, 192});
  });
  refused("over at most 8 ranks", [](Spec& spec) { spec.ranks.value = 9; });
  // Any tile of a kernel with a helper warp is possible, also one without room in shared memory.
  Spec spec = spec_of(pattern, TILEPOST_TRANSPORT_PEER);
  spec.schedule.tile = wish(std::vector<int64_t>{128, 128});
  CHECK(only(spec).task_parts == 1);
  CHECK(only(spec).kernel.helper_bytes == kHelperBytes);
}

TEST_CASE("auto compares what the machine and the pattern allow") {
  const auto compared = [](const Spec& spec, tilepost_transport_t transport) {
    const std::string name = std::string(name_of(transport)) + ": ";
    for (const std::string& reason : only(spec).reasons)
      if (reason.find("transport ") == 0 && reason.find("none: ") != std::string::npos)
        return reason.find(name) != std::string::npos;
    return false;
  };
  const auto open = [](tilepost_pattern_t pattern) { return spec_of(pattern, std::nullopt); };
  for (const tilepost_pattern_t pattern : kCommunicating) {
    INFO(name_of(pattern));
    CHECK(compared(open(pattern), TILEPOST_TRANSPORT_NCCL));
    CHECK(compared(open(pattern), TILEPOST_TRANSPORT_COPY_ENGINE));
    CHECK(compared(open(pattern), TILEPOST_TRANSPORT_PEER));
    CHECK_FALSE(compared(open(pattern), TILEPOST_TRANSPORT_NCCL_SYMMETRIC));
  }
  for (const tilepost_pattern_t pattern : {TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_ALL_TO_ALL_GEMM}) {
    Spec routed = open(pattern);
    routed.routing.value = TILEPOST_ROUTING_SPLITS;
    CHECK(compared(routed, TILEPOST_TRANSPORT_COPY_ENGINE));
    CHECK_FALSE(compared(routed, TILEPOST_TRANSPORT_PEER));
  }
  // NCCL is left for more ranks than one host has, for the tile layout, and for machines that were
  // not measured.
  Spec ranks = open(TILEPOST_GEMM_ALL_REDUCE);
  ranks.ranks.value = 9;
  CHECK(only(ranks).planned_transport == TILEPOST_TRANSPORT_NCCL);
  Spec tiles = open(TILEPOST_GEMM_ALL_REDUCE);
  tiles.schedule.layout.value = TILEPOST_TILE;
  CHECK(only(tiles).planned_transport == TILEPOST_TRANSPORT_NCCL);
  for (const Arch arch : {Arch::sm_80, Arch::sm_89, Arch::host})
    CHECK(only(spec_of(TILEPOST_GEMM_ALL_REDUCE, std::nullopt, 8192, 2048, arch)).access ==
          TILEPOST_ACCESS_MESSAGES);
}

TEST_CASE("auto takes the transport that is predicted to end first, and says what it needs") {
  for (const tilepost_pattern_t pattern : kCommunicating) {
    const Plan p = only(spec_of(pattern, std::nullopt));
    INFO(name_of(pattern));
    REQUIRE(transport_of(p.planned_transport).shares_memory());
    for (const tilepost_transport_t transport :
         {TILEPOST_TRANSPORT_NCCL, TILEPOST_TRANSPORT_COPY_ENGINE, TILEPOST_TRANSPORT_PEER})
      CHECK(p.prediction.total <= 1.02 * only(spec_of(pattern, transport)).prediction.total);
    bool says = false;
    for (const std::string& reason : p.reasons)
      says |= reason.find("needs peer access between all ranks") != std::string::npos;
    CHECK(says);
  }
}

int64_t bytes_named(const Plan& p, const std::string& name) {
  for (const PlannedMemory& part : planned_memory(p))
    if (part.name == name) return part.bytes;
  return 0;
}

TEST_CASE("memory is what each transport keeps of the parts") {
  constexpr int64_t kProduct = int64_t{8192} * 8192 * 2;
  const auto bytes = [](tilepost_pattern_t pattern, tilepost_transport_t transport,
                        const char* name) {
    return bytes_named(only(spec_of(pattern, transport)), name);
  };
  CHECK(planned_memory(only(spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_NCCL))).empty());
  CHECK(bytes(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_NCCL, "send") == kProduct);
  CHECK(bytes(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_COPY_ENGINE, "send") == kProduct);
  CHECK(bytes(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_COPY_ENGINE, "slots") == kProduct);
  CHECK(bytes(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_PEER, "send") == 0);
  CHECK(bytes(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_PEER, "slots") == kProduct);
  CHECK(bytes(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_PEER, "sums") == 0);
  CHECK(bytes(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_COPY_ENGINE, "sums") == kProduct / 4);
  CHECK(bytes(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER, "sums") == 0);
  CHECK(bytes(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER, "slots") == kProduct);
  CHECK(bytes(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER, "landed") == kProduct);
  CHECK(bytes(TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_TRANSPORT_PEER, "landed") == kProduct);
  CHECK(bytes(TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_TRANSPORT_PEER, "slots") == 0);
  for (const tilepost_transport_t transport : kSharing)
    for (const tilepost_pattern_t pattern : {TILEPOST_ALL_GATHER_GEMM, TILEPOST_ALL_TO_ALL_GEMM})
      CHECK(bytes(pattern, transport, "gathered") ==
            (transport == TILEPOST_TRANSPORT_PEER ? 2 : 1) * int64_t{8192} * 2048 * 2);
  Spec routed = spec_of(TILEPOST_ALL_TO_ALL_GEMM, TILEPOST_TRANSPORT_COPY_ENGINE);
  routed.routing.value = TILEPOST_ROUTING_ROWS;
  CHECK(bytes_named(only(routed), "gathered") == int64_t{4} * 8192 * 2048 * 2);
  CHECK(bytes_named(only(routed), "packed") == int64_t{8192} * 2048 * 2);
  routed.max_received = wish<int64_t>(10000);
  CHECK(bytes_named(only(routed), "gathered") == int64_t{10000} * 2048 * 2);
  routed.routing.value = TILEPOST_ROUTING_SPLITS;
  CHECK(bytes_named(only(routed), "packed") == 0);
  Spec pulled = spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER);
  pulled.schedule.comm_sms = wish<int64_t>(3);
  CHECK(bytes_named(only(pulled), "sums") == kProduct / 4);
  CHECK(bytes_named(only(pulled), "landed") == 0);
  Spec normalised = spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER);
  normalised.consumer.value = TILEPOST_CONSUMER_RMS_NORM;  // the consumer reads landed rows
  CHECK(bytes_named(only(normalised), "landed") == kProduct);
  CHECK(bytes_named(only(normalised), "received") == 0);
  normalised.transport.value = TILEPOST_TRANSPORT_COPY_ENGINE;
  CHECK(bytes_named(only(normalised), "received") == kProduct);
  Spec added = spec_of(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_PEER);
  added.schedule.sum.value = TILEPOST_SUM_ADDED;
  CHECK(bytes_named(only(added), "slots") == kProduct / 4);
}

TEST_CASE("explain and the JSON say what a transport does and allocates") {
  const std::tuple<tilepost_pattern_t, tilepost_transport_t, std::vector<std::string>> expected[] =
      {{TILEPOST_GEMM_REDUCE_SCATTER,
        TILEPOST_TRANSPORT_COPY_ENGINE,
        {"transport    copy_engine, ", "copy engines bring the other ranks' parts",
         "128.0 MiB send, 128.0 MiB slots shared with the other ranks, on every rank",
         "3 pull_part", "1 sum"}},
       {TILEPOST_GEMM_ALL_REDUCE,
        TILEPOST_TRANSPORT_PEER,
        {"transport    peer, parts staged, ", "kernels of all ranks store",
         "128.0 MiB landed shared",
         "helper warps store what is summed into the other ranks' memory", "3 push_sums",
         "3 landed_sums", "a store every ", "a helper warp of each CTA sums them",
         "132 = 132 GEMM"}},
       {TILEPOST_ALL_GATHER_GEMM,
        TILEPOST_TRANSPORT_COPY_ENGINE,
        {"copy engines store this rank's rows of A into the other ranks' memory",
         "32.0 MiB gathered shared", "1 push_rows", "1 landed_rows", "1 announcements"}},
       {TILEPOST_ALL_GATHER_GEMM,
        TILEPOST_TRANSPORT_PEER,
        {"helper warps store this rank's rows of A into the other ranks' memory",
         "the kernels of all ranks meet by themselves", "64.0 MiB gathered shared", "3 push_rows",
         "3 landed_rows", "132 = 132 GEMM"}},
       {TILEPOST_ALL_TO_ALL_GEMM,
        TILEPOST_TRANSPORT_COPY_ENGINE,
        {"copy engines store this rank's rows of A into the other ranks' memory",
         "32.0 MiB gathered shared", "1 push_rows", "1 landed_rows", "1 announcements"}},
       {TILEPOST_ALL_TO_ALL_GEMM,
        TILEPOST_TRANSPORT_PEER,
        {"helper warps store this rank's rows of A into the other ranks' memory",
         "64.0 MiB gathered shared", "3 push_rows", "3 landed_rows", "132 = 132 GEMM"}},
       {TILEPOST_GEMM_ALL_TO_ALL,
        TILEPOST_TRANSPORT_PEER,
        {"3 landed_part", "1 own_part", "132 = 132 GEMM"}}};
  for (const auto& [pattern, transport, texts] : expected) {
    const Plan p = only(spec_of(pattern, transport));
    const std::string text = explain_plan(p);
    INFO(text);
    for (const std::string& words : texts) CHECK(text.find(words) != std::string::npos);
    // Every line before the reasons fits a wide terminal.
    for (size_t at = 0; text.compare(at, 4, "why\n") != 0;) {
      const size_t end = text.find('\n', at);
      CHECK(end - at <= 130);
      at = end + 1;
    }
    const std::string json = plans_to_json({p});
    CHECK(json.find("\"memory_bytes\"") != std::string::npos);
    CHECK(json.find(p.access == TILEPOST_ACCESS_READ
                        ? "\"access\": \"read\""
                        : "\"access\": \"write\"") != std::string::npos);
  }
}

}  // namespace
}  // namespace tilepost::test
