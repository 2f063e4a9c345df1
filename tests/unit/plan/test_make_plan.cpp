// The planner's decisions, and that they obey the spec.
#include <numeric>

#include "generator/emit/plan_json.h"
#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

TEST_CASE("a large problem on sm_90a overlaps on the default kernel") {
  Spec spec = make_spec(8192, 8192, 2048);
  spec.ranks.value = 16;  // ranks on several hosts
  const Plan p = only(spec);
  REQUIRE(p.kernel.name == std::string("gemm_sm90"));
  REQUIRE(p.map.tile_m * p.map.tile_n >= 128 * 192);
  REQUIRE(p.planned_transport == TILEPOST_TRANSPORT_NCCL);
  REQUIRE(p.map.layout == TILEPOST_PANEL);
  REQUIRE(p.wait == TILEPOST_WAIT_POLL);
  REQUIRE(p.sms == 132);
  REQUIRE(p.gemm_ctas == (132 - p.comm_ctas - 1) / 2 * 2);
  REQUIRE(p.cuts().size() > 1);
  REQUIRE(p.prediction.sequence / p.prediction.total > 1.1);
  REQUIRE(p.prediction.group_ready.size() == p.cuts().size());
}

TEST_CASE("a tiny problem does not overlap unless asked to") {
  Spec spec = make_spec(64, 64, 64);
  spec.archs.value = {Arch::sm_80};  // kernels of sm_80 do not exchange tiles
  REQUIRE(only(spec).transport == TILEPOST_TRANSPORT_NONE);
  spec.transport.value = TILEPOST_TRANSPORT_NCCL;
  const Plan p = only(spec);
  REQUIRE(p.planned_transport == TILEPOST_TRANSPORT_NCCL);
  REQUIRE(p.cuts().size() == 1);
  REQUIRE(p.gemm_ctas <= static_cast<int>(p.tile_map().tiles.size()));
}

TEST_CASE("without overlap the GEMM has all SMs") {
  Spec spec = make_spec(8192, 8192, 2048);
  spec.transport.value = TILEPOST_TRANSPORT_NONE;
  spec.schedule.tile = wish(std::vector<int64_t>{128, 192});
  const Plan p = only(spec);
  REQUIRE(p.gemm_ctas == 132);
  REQUIRE(p.comm_ctas == 0);
  REQUIRE(p.cuts().size() == 1);
}

TEST_CASE("explicit groups, tile, stages, cluster and SMs are taken as they are") {
  for (const tilepost_layout_t layout : {TILEPOST_PANEL, TILEPOST_TILE}) {
    Spec spec = make_spec(8192, 8192, 2048);
    spec.schedule.layout.value = layout;
    spec.transport.value = TILEPOST_TRANSPORT_NCCL;
    spec.schedule.tile = wish(std::vector<int64_t>{128, 192});
    spec.schedule.stages = wish<int64_t>(3);
    spec.schedule.cluster = wish<int64_t>(1);
    spec.schedule.comm_sms = wish<int64_t>(16);
    spec.schedule.sms = wish<int64_t>(128);
    const int64_t waves = (64 * 43 + 110) / 111;  // 128 - 16 - 1 = 111 CTAs
    spec.schedule.groups = wish(std::vector<int64_t>{1, 3, waves - 4});
    const Plan p = only(spec);
    REQUIRE(p.map.tile_n == 192);
    REQUIRE(p.source.stages == 3);
    REQUIRE(p.map.cluster == 1);
    REQUIRE(p.comm_ctas == 16);
    REQUIRE(p.gemm_ctas == 111);
    REQUIRE(p.waves == waves);
    REQUIRE(p.group_waves == std::vector<int>{1, 3, static_cast<int>(waves) - 4});
    if (layout == TILEPOST_TILE)
      REQUIRE(p.cuts() == std::vector<int32_t>{111, 444, 64 * 43});
    else
      REQUIRE(p.cuts() == std::vector<int32_t>{2, 10, 64});  // 111 / 43 and 444 / 43 tile rows
  }
}

TEST_CASE("groups choose among the open SM budgets the one whose waves they sum to") {
  Spec spec = make_spec(8192, 8192, 2048);
  spec.transport.value = TILEPOST_TRANSPORT_NCCL;
  spec.schedule.tile = wish(std::vector<int64_t>{128, 256});
  spec.schedule.groups = wish(std::vector<int64_t>{1, 3, 4, 5, 4});  // 17 waves: 122 CTAs
  const Plan p = only(spec);
  REQUIRE(p.waves == 17);
  REQUIRE(p.comm_ctas == 8);
}

TEST_CASE("shapes TMA cannot address are served by gemm_sm80 with narrower accesses") {
  const auto vectors = [](int64_t n, int64_t k) {
    const Plan p = only(make_spec(1000, n, k));
    REQUIRE(p.kernel.name == std::string("gemm_sm80"));
    REQUIRE(p.arch == Arch::sm_90a);
    REQUIRE(p.reasons[1].find("gemm_sm80 compiled for sm_90a") != std::string::npos);
    return p.source.tunables.at("LOAD_VECTOR") + " " + p.source.tunables.at("STORE_VECTOR");
  };
  REQUIRE(vectors(1000, 129) == "1 8");
  REQUIRE(vectors(1000, 130) == "2 8");
  REQUIRE(vectors(1000, 132) == "4 8");
  REQUIRE(vectors(1001, 128) == "8 1");
  REQUIRE(vectors(1002, 128) == "8 2");
  REQUIRE(vectors(1004, 129) == "1 4");
  Spec slots = make_spec(1000, 1001, 128);
  slots.schedule.layout.value = TILEPOST_TILE;
  REQUIRE(only(slots).kernel.name == std::string("gemm_sm90"));  // slots are aligned for every N
  slots.gemm.k.value = 129;
  REQUIRE(only(slots).source.tunables.at("STORE_VECTOR") == "8");
}

TEST_CASE("two CTAs share an SM where the kernel says so") {
  Spec spec = make_spec(4096, 4096, 1024, Arch::sm_86);
  spec.transport.value = TILEPOST_TRANSPORT_NCCL;
  spec.schedule.tile = wish(std::vector<int64_t>{128, 128});
  spec.schedule.comm_sms = wish<int64_t>(10);
  const Plan p = only(spec);
  REQUIRE(p.kernel.ctas_per_sm == 2);
  REQUIRE(p.gemm_ctas == 2 * (84 - 10 - 1));
}

TEST_CASE("a cluster of 4 takes no more CTAs than are resident at once") {
  Spec spec = make_spec(8192, 8192, 2048);
  spec.schedule.cluster = wish<int64_t>(4);
  spec.transport.value = TILEPOST_TRANSPORT_NONE;
  REQUIRE(only(spec).gemm_ctas == 120);
}

TEST_CASE("where a kernel waits for tasks of all CTAs, a cluster finds room beside it") {
  Spec spec = make_spec(4096, 1536, 1136);
  spec.pattern.value = TILEPOST_ALL_GATHER_GEMM;
  spec.transport.value = TILEPOST_TRANSPORT_COPY_ENGINE;
  spec.ranks.value = 2;
  spec.gemm.a.value = spec.gemm.b.value = TILEPOST_E4M3;
  spec.gemm.scales.value = TILEPOST_SCALES_BLOCKS;
  const Plan p = only(spec);
  REQUIRE(paths_of(p).planned.waits_for_tasks());
  REQUIRE(p.kernel.cluster == 4);
  REQUIRE(p.gemm_ctas == 120 - 4);
}

TEST_CASE("the host target has groups as soon as there are two waves and two tile rows") {
  for (const tilepost_layout_t layout : {TILEPOST_PANEL, TILEPOST_TILE}) {
    for (const int64_t m : {65, 129, 500, 1000, 2000}) {
      for (const int64_t n : {7, 64, 129, 1000}) {
        Spec spec = make_spec(m, n, 64, Arch::host);
        spec.schedule.layout.value = layout;
        const Plan p = only(spec);
        REQUIRE(p.planned_transport == TILEPOST_TRANSPORT_NCCL);
        REQUIRE(p.sms == 8);
        if (p.waves >= 2) REQUIRE(p.cuts().size() >= 2);
        REQUIRE(std::accumulate(p.group_waves.begin(), p.group_waves.end(), 0) == p.waves);
      }
    }
  }
}

TEST_CASE("the host target clips its default tile to the output") {
  const Plan p = only(make_spec(7, 1000, 1, Arch::host));
  REQUIRE(p.map.tile_m == 8);
  REQUIRE(p.map.tile_n == 64);
}

TEST_CASE("the host twin computes the same schedule") {
  for (const int64_t m : {129, 1000, 8192}) {
    Spec spec = make_spec(m, 2048, 1024);
    spec.transport.value = TILEPOST_TRANSPORT_NCCL;
    spec.schedule.cluster = wish<int64_t>(2);
    const Plan p = only(spec);
    const Plan twin = host_twin(p);
    REQUIRE(verify_plan(twin).empty());
    REQUIRE(twin.arch == Arch::host);
    REQUIRE(twin.kernel.name == std::string("gemm_host"));
    REQUIRE(twin.cuts() == p.cuts());
    REQUIRE(twin.tile_map().tiles.size() == p.tile_map().tiles.size());
    for (size_t t = 0; t < p.tile_map().tiles.size(); ++t) {
      REQUIRE(twin.tile_map().tiles[t].m == p.tile_map().tiles[t].m);
      REQUIRE(twin.tile_map().tiles[t].row == p.tile_map().tiles[t].row);
      REQUIRE(twin.tile_map().tiles[t].group == p.tile_map().tiles[t].group);
    }
    for (size_t g = 0; g < p.cuts().size(); ++g)
      REQUIRE(twin.tile_map().groups[g].target * p.map.signals_per_tile ==
              p.tile_map().groups[g].target);
  }
}

TEST_CASE("planning is deterministic and one plan per architecture comes in order") {
  Spec spec = make_spec(4096, 8192, 2048);
  spec.archs.value = {Arch::sm_80, Arch::sm_90a};
  const Planned first = plan(spec), second = plan(spec);
  REQUIRE(first.plans.size() == 2);
  REQUIRE(first.plans[0].arch == Arch::sm_80);
  REQUIRE(first.plans[1].arch == Arch::sm_90a);
  REQUIRE(plans_to_json(first.plans) == plans_to_json(second.plans));
}

}  // namespace
}  // namespace tilepost::test
