// Kernels of transport peer that are whole runs (tilepost_plan_t::whole_run): when they are
// planned, their plans, and what verify_plan notices in wrong plans.
#include <functional>

#include "generator/plan/choose/plan_of_run.h"
#include "generator/plan/make_plan.h"
#include "generator/plan/report/explain.h"
#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

constexpr tilepost_pattern_t kOfProducts[] = {
    TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_GEMM_ALL_TO_ALL};

Spec by_peer(tilepost_pattern_t pattern) {
  return spec_of(pattern, TILEPOST_TRANSPORT_PEER);
}

TEST_CASE("a kernel whose helper warps do all there is to do is the whole run") {
  for (const tilepost_pattern_t pattern : kOfProducts) {
    INFO(name_of(pattern));
    const Plan p = only(by_peer(pattern));
    REQUIRE((p.task_parts > 0 || p.fused != 0));
    REQUIRE(p.whole_run == 1);
    REQUIRE(p.kernel.early == 1);
    REQUIRE(p.source.tunables.at("EARLY") == "1");
    const RunPath path = paths_of(p).planned;
    REQUIRE(path.whole_run);
    REQUIRE_FALSE(path.exchanges_parts);
    REQUIRE(path.kernel_does_all);
    REQUIRE(path.stores == Buffer::owners);
    REQUIRE(explain_plan(p).find("the kernels of all ranks meet by themselves") !=
            std::string::npos);
  }
}

TEST_CASE("consumers come behind the kernel as they always do") {
  Spec spec = by_peer(TILEPOST_GEMM_ALL_REDUCE);
  spec.consumer.value = TILEPOST_CONSUMER_RMS_NORM;
  REQUIRE(only(spec).whole_run == 1);
}

TEST_CASE("no kernel is where something else has to be done, or for which it has no room") {
  const auto meets = [](tilepost_pattern_t pattern, const std::function<void(Spec&)>& change) {
    Spec spec = by_peer(pattern);
    change(spec);
    const Plan p = only(spec);
    REQUIRE(p.source.tunables.count("EARLY") == (p.whole_run != 0 ? 1 : 0));
    REQUIRE(p.kernel.early == p.whole_run);
    return p.whole_run != 0;
  };
  const auto as_it_is = [](Spec&) {};
  REQUIRE(meets(TILEPOST_GEMM_REDUCE_SCATTER, as_it_is));
  REQUIRE(meets(TILEPOST_ALL_GATHER_GEMM, as_it_is));
  REQUIRE(meets(TILEPOST_ALL_TO_ALL_GEMM, as_it_is));
  REQUIRE_FALSE(meets(TILEPOST_ALL_GATHER_GEMM,
                      [](Spec& spec) { spec.transport.value = TILEPOST_TRANSPORT_COPY_ENGINE; }));
  const std::function<void(Spec&)> changes[] = {
      [](Spec& spec) { spec.schedule.comm_sms = wish<int64_t>(16); },
      [](Spec& spec) { spec.schedule.sum.value = TILEPOST_SUM_ADDED; },
      [](Spec& spec) { spec.neighbours.value = true; },
      [](Spec& spec) { spec.transport.value = TILEPOST_TRANSPORT_COPY_ENGINE; },
      [](Spec& spec) { spec.transport.value = TILEPOST_TRANSPORT_NCCL; },
      [](Spec& spec) { spec.ranks.value = TILEPOST_MOST_EXCHANGING + 1; },
      [](Spec& spec) { spec.archs.value = {Arch::host}; },
  };
  for (const auto& change : changes) REQUIRE_FALSE(meets(TILEPOST_GEMM_REDUCE_SCATTER, change));
}

TEST_CASE("threads, and runs in sequence, are begun and ended") {
  const Plan p = only(by_peer(TILEPOST_GEMM_REDUCE_SCATTER));
  REQUIRE(host_twin(p).whole_run == 0);
  REQUIRE(verify_plan(host_twin(p)).empty());
  Spec spec = spec_of(TILEPOST_GEMM_REDUCE_SCATTER, std::nullopt);
  spec.gemm.any_m = true;
  const Plan any = only(spec);
  REQUIRE(any.whole_run == 1);
  const Plan few = plan_of_run(any, 1);
  REQUIRE(few.transport == TILEPOST_TRANSPORT_NONE);
  REQUIRE(few.whole_run == 0);
  REQUIRE(plan_of_run(any, 8192).whole_run == 1);
}

TEST_CASE("caught: a kernel that is the whole run, and others that cannot be or do not say so") {
  const std::pair<const char*, std::function<void(Plan&)>> mutants[] = {
      {"no tasks", [](Plan& p) { p.task_parts = p.fused = 0; }},
      {"SMs beside it", [](Plan& p) { p.comm_ctas = 1, p.gemm_ctas -= 2 * p.kernel.cluster; }},
      {"too many ranks", [](Plan& p) { p.ranks = TILEPOST_MOST_EXCHANGING + 1; }},
      {"launched late", [](Plan& p) { p.kernel.early = 0; }},
      {"the next launched late", [](Plan& p) { p.source.tunables.erase("EARLY"); }},
      {"the next launched early, though it does not meet", [](Plan& p) { p.whole_run = 0; }},
  };
  for (const tilepost_pattern_t pattern : kOfProducts)
    for (const auto& [what, change] : mutants) {
      INFO(name_of(pattern) << ", " << what);
      Plan p = only(by_peer(pattern));
      REQUIRE(verify_plan(p).empty());
      change(p);
      REQUIRE_FALSE(verify_plan(p).empty());
    }
  Plan rows = only(by_peer(TILEPOST_ALL_GATHER_GEMM));
  REQUIRE(verify_plan(rows).empty());
  rows.task_parts = 0;
  REQUIRE_FALSE(verify_plan(rows).empty());
}

}  // namespace
}  // namespace tilepost::test
