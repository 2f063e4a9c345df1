// The planner over all small and ragged shapes. Every spec gets a plan, which make_plans has
// verified, for every architecture, layout and cluster. The host twin of the plan is verified too.
#include <cstdio>

#include "tests/catch.h"
#include "tests/unit/plan/build_plan.h"

namespace tilepost::test {
namespace {

constexpr int64_t kSizes[] = {1, 7, 64, 129, 1000};

// Plans `spec` with and without overlap, and checks what both plans must have in common.
int check(Spec spec) {
  int plans = 0;
  for (const std::optional<tilepost_transport_t> transport :
       open_or({TILEPOST_TRANSPORT_NCCL, TILEPOST_TRANSPORT_NONE})) {
    spec.transport.value = transport;
    const Planned planned = plan(spec);
    INFO(planned.messages);
    REQUIRE(planned.errors == 0);
    for (const Plan& p : planned.plans) {
      ++plans;
      REQUIRE(p.source.tunables.at("BAND") == std::to_string(p.map.band));
      REQUIRE(p.map.band % p.map.cluster == 0);
      REQUIRE(verify_plan(host_twin(p)).empty());
    }
  }
  return plans;
}

TEST_CASE("every small spec has a plan") {
  int plans = 0;
  for (const int64_t m : kSizes)
    for (const int64_t n : kSizes)
      for (const int64_t k : kSizes)
        for (const tilepost_layout_t layout : {TILEPOST_PANEL, TILEPOST_TILE}) {
          Spec spec = make_spec(m, n, k);
          spec.schedule.layout.value = layout;
          spec.archs.value = {Arch::sm_80, Arch::sm_86, Arch::sm_89, Arch::sm_90a, Arch::host};
          for (const int64_t ranks : {2, 3, 4, 8}) {
            spec.ranks.value = ranks;
            plans += check(spec);
          }
        }
  std::printf("%d small specs planned\n", plans);
}

// Tries every pattern, layout of B and type, where K and N allow TMA and where they do not.
TEST_CASE("every small GEMM alone has a plan") {
  int plans = 0;
  for (const int64_t m : {1, 129, 1000})
    for (const int64_t n : {1, 7, 64, 1000})
      for (const int64_t k : {1, 7, 64, 72, 1000})
        for (const tilepost_layout_t layout : {TILEPOST_PANEL, TILEPOST_TILE})
          for (const tilepost_dtype_t input : {TILEPOST_BF16, TILEPOST_F16, TILEPOST_E4M3})
            for (const int variant : {0, 1}) {
              Spec spec = make_spec(m, n, k);
              spec.pattern.value = TILEPOST_GEMM;
              spec.schedule.layout.value = layout;
              spec.gemm.a.value = spec.gemm.b.value = spec.gemm.out.value = input;
              spec.archs.value = {Arch::sm_89, Arch::sm_90a, Arch::host};
              if (input == TILEPOST_E4M3) {
                spec.gemm.out.value = TILEPOST_F16;
                spec.gemm.accumulate.value = variant ? TILEPOST_FAST : TILEPOST_PRECISE;
              } else {
                spec.gemm.layout.value = variant ? TILEPOST_NN : TILEPOST_TN;
                spec.archs.value.push_back(Arch::sm_80);
              }
              const Planned planned = plan(spec);
              INFO(planned.messages);
              REQUIRE(planned.plans.size() == spec.archs.value.size());
              for (const Plan& p : planned.plans) {
                ++plans;
                REQUIRE(p.cuts().size() == 1);
                REQUIRE(verify_plan(host_twin(p)).empty());
              }
            }
  std::printf("%d small GEMMs planned\n", plans);
}

TEST_CASE("every cluster and SM count has a plan") {
  for (const int64_t cluster : {1, 2, 4})
    for (const int64_t sms : {7, 8, 13, 32, 78, 114, 132})
      for (const int64_t m : {1, 129, 1000, 5000})
        for (const tilepost_layout_t layout : {TILEPOST_PANEL, TILEPOST_TILE}) {
          Spec spec = make_spec(m, 3072, 512);
          spec.schedule.layout.value = layout;
          spec.schedule.cluster = wish(cluster);
          spec.schedule.sms = wish(sms);
          spec.archs.value = {Arch::sm_90a, Arch::host};
          check(spec);
        }
}

TEST_CASE("every split of the waves into groups is taken as asked") {
  Spec spec = make_spec(1000, 1000, 64, Arch::host);
  spec.schedule.sms = wish<int64_t>(34);  // 256 tiles on 32 workers: 8 waves of 2 tile rows
  for (const tilepost_layout_t layout : {TILEPOST_PANEL, TILEPOST_TILE}) {
    spec.schedule.layout.value = layout;
    for (unsigned mask = 0; mask < 1u << 7; ++mask) {
      std::vector<int64_t> groups = {1};
      for (int wave = 1; wave < 8; ++wave) {
        if (mask >> (wave - 1) & 1)
          groups.push_back(1);
        else
          ++groups.back();
      }
      spec.schedule.groups = wish(groups);
      const Planned planned = plan(spec);
      INFO(planned.messages);
      REQUIRE(planned.plans.size() == 1);
      const Plan& p = planned.plans.front();
      REQUIRE(p.group_waves == std::vector<int>(groups.begin(), groups.end()));
      int wave = 0;
      for (size_t g = 0; g < groups.size(); ++g) {
        wave += p.group_waves[g];
        REQUIRE(p.cuts()[g] == (layout == TILEPOST_PANEL ? 2 * wave : 32 * wave));
      }
    }
  }
}

}  // namespace
}  // namespace tilepost::test
