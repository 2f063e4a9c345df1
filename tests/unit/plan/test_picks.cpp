// What is worth measuring, and plans that are made again from their features.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "generator/plan/kernels/sm80/sm80.h"
#include "generator/plan/kernels/sm90/sm90.h"
#include "generator/plan/kernels/sm90_small/sm90_small.h"
#include "generator/silent_diagnostics.h"
#include "runtime/map/cut_points.h"
#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

std::vector<Plan> candidates(const Spec& spec, size_t most = 12) {
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  DiagnosticPrinter diagnostics(stream);
  std::vector<Plan> plans =
      candidate_plans(spec, default_machine(), spec.archs.value.front(), most, diagnostics);
  INFO(messages);
  REQUIRE(diagnostics.ok());
  REQUIRE(!plans.empty());
  return plans;
}

struct Picked {
  std::vector<Plan> plans;
  std::string messages;
};

Picked plan_picked(const Spec& spec, const Pick& pick) {
  Picked result;
  llvm::raw_string_ostream stream(result.messages);
  DiagnosticPrinter diagnostics(stream);
  const TunedPick tuned{
      spec.archs.value.front(), pick, {"layers.tuning.yaml", "2 x NVIDIA H200", 812.4}, {}};
  result.plans = make_plans(spec, default_machine(), diagnostics, nullptr, {&tuned, 1});
  stream.flush();
  REQUIRE(diagnostics.ok());
  return result;
}

struct Shape {
  tilepost_pattern_t pattern;
  int64_t m, n, k;
  Arch arch = Arch::sm_90a;
};

// Few rows and many, every pattern, kernels with and without TMA.
std::vector<Spec> specs() {
  std::vector<Spec> all;
  for (const PatternRow& row : kPatterns) {
    if (row.has_experts()) continue;  // one kernel has no others to be picked from
    for (const Shape& shape :
         {Shape{row.pattern, 4096, 8192, 2048}, Shape{row.pattern, 64, 8192, 4096},
          Shape{row.pattern, 1000, 4100, 1030},
          Shape{row.pattern, 4096, 4096, 4096, Arch::sm_80}}) {
      Spec spec = make_spec(shape.m, shape.n, shape.k, shape.arch);
      spec.pattern.value = shape.pattern;
      if (!row.communicates()) spec.ranks.value = 1;
      all.push_back(spec);
    }
  }
  return all;
}

std::string text_of(const Spec& spec) {
  return std::string(name_of(spec.pattern.value)) + " " + std::to_string(spec.gemm.m.value);
}

TEST_CASE("candidates are distinct, the choice first and the others by their prediction") {
  for (const Spec& spec : specs()) {
    INFO(text_of(spec));
    const std::vector<Plan> plans = candidates(spec);
    CHECK(plans.size() <= 12);
    CHECK(pick_of(plans.front()) == pick_of(only(spec)));
    for (size_t i = 0; i < plans.size(); ++i)
      for (size_t j = 0; j < i; ++j) CHECK_FALSE(pick_of(plans[i]) == pick_of(plans[j]));
    for (size_t i = 2; i < plans.size(); ++i)
      CHECK(plans[i - 1].prediction.total <= plans[i].prediction.total);
    for (const Plan& plan : plans) CHECK(join(verify_plan(plan)) == "");
  }
}

TEST_CASE("candidates differ in kernel and transport, not in budgets alone") {
  const std::vector<Plan> plans =
      candidates(spec_of(TILEPOST_GEMM_REDUCE_SCATTER, std::nullopt, 4096, 4096));
  CHECK(plans.size() >= 8);
  std::set<tilepost_transport_t> transports;
  std::set<std::string> kernels;
  for (const Plan& plan : plans) {
    transports.insert(plan.planned_transport);
    kernels.insert(std::to_string(plan.map.tile_m) + "x" + std::to_string(plan.map.tile_n) +
                   plan.source.variant);
  }
  CHECK(transports.size() >= 3);
  CHECK(kernels.size() >= 3);
}

TEST_CASE("no more candidates than asked for") {
  const Spec spec = spec_of(TILEPOST_GEMM_ALL_REDUCE, std::nullopt);
  CHECK(candidates(spec, 1).size() == 1);
  CHECK(candidates(spec, 5).size() == 5);
}

TEST_CASE("a plan is made again from its features") {
  for (const Spec& spec : specs())
    for (const Plan& plan : candidates(spec)) {
      const Picked again = plan_picked(spec, pick_of(plan));
      INFO(text_of(spec) << ", " << pick_text(pick_of(plan)) << again.messages);
      REQUIRE(again.plans.size() == 1);
      CHECK(again.plans.front().tuned.known());
      CHECK(pick_of(again.plans.front()) == pick_of(plan));
      CHECK(again.plans.front().map_hash == plan.map_hash);
      CHECK(again.plans.front().source.tunables == plan.source.tunables);
      CHECK(again.plans.front().gemm_ctas == plan.gemm_ctas);
      CHECK(again.plans.front().prediction.total == plan.prediction.total);
      CHECK(again.messages.find("is not used") == std::string::npos);
    }
}

TEST_CASE("with a candidate's features any groups are planned that are possible") {
  std::mt19937 random(7);
  const Spec spec = spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_NCCL);
  const Plan plan = only(spec);
  const int64_t units = cut_units(plan.map);
  for (int i = 0; i < 20; ++i) {
    Pick pick = pick_of(plan);
    std::set<int64_t> ends = {units};
    for (int end = 0; end < i % 6; ++end) ends.insert(1 + random() % units);
    pick.cuts.clear();
    for (const int64_t end : ends) pick.cuts.push_back(cut_after(plan.map, end).cut);
    const Picked picked = plan_picked(spec, pick);
    REQUIRE(picked.plans.size() == 1);
    CHECK(picked.plans.front().cuts() == pick.cuts);
    CHECK(picked.plans.front().tile_map().groups.size() == ends.size());
  }
}

TEST_CASE("groups that no schedule has are not planned") {
  const Spec spec = spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_NCCL);
  const Pick right = pick_of(only(spec));
  const int32_t last = right.cuts.back();
  for (const std::vector<int32_t>& cuts : {std::vector<int32_t>{last - 1},
                                           {last + 1},
                                           {last, last},
                                           {1, last},
                                           {last, 1},
                                           {0, last}}) {
    Pick pick = right;
    pick.cuts = cuts;
    if (cuts.front() == 1 && cut_after(only(spec).map, 1).cut == 1) continue;
    const Picked picked = plan_picked(spec, pick);
    CHECK_THAT(picked.messages, Catch::Contains("is not used"));
    CHECK(pick_of(picked.plans.front()) == right);
    CHECK_FALSE(picked.plans.front().tuned.known());
  }
}

TEST_CASE("what the spec names wins over a pick, and a note says so") {
  const Spec open = spec_of(TILEPOST_GEMM_ALL_REDUCE, std::nullopt);
  const Pick pick = pick_of(only(spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_NCCL)));
  const auto refused = [&](const Spec& spec, const std::string& text) {
    const Picked picked = plan_picked(spec, pick);
    CHECK_THAT(picked.messages,
               Catch::Contains(
                   "note: the choice of tuning file 'layers.tuning.yaml' is not used: " + text));
    CHECK(pick_of(picked.plans.front()) == pick_of(only(spec)));
  };
  Spec spec = open;
  spec.transport.value = TILEPOST_TRANSPORT_COPY_ENGINE;
  refused(spec, "transport is 'copy_engine' here, and 'nccl' there");
  spec = open;
  spec.schedule.stages = wish(int64_t{2});
  refused(spec, "schedule.stages is '2' here, and '" + std::to_string(pick.stages) + "' there");
  spec = open;
  spec.schedule.comm_sms = wish(int64_t{pick.comm_ctas + 1});
  refused(spec, "schedule.comm_sms is '" + std::to_string(pick.comm_ctas + 1) + "' here");
  // The same value is no contradiction.
  spec = open;
  spec.transport.value = TILEPOST_TRANSPORT_NCCL;
  spec.schedule.tile = wish(std::vector<int64_t>{pick.tile_m, pick.tile_n});
  CHECK(plan_picked(spec, pick).messages.find("is not used") == std::string::npos);
}

TEST_CASE("a pick that this version does not have is a warning") {
  const Spec spec = spec_of(TILEPOST_GEMM_ALL_REDUCE, std::nullopt);
  Pick pick = pick_of(only(spec));
  pick.variant = "quarters/9";
  const Picked picked = plan_picked(spec, pick);
  CHECK_THAT(picked.messages, Catch::Contains("warning: ") && Catch::Contains("quarters/9"));
  CHECK_FALSE(picked.plans.front().tuned.known());
}

TEST_CASE("a pick says where it comes from") {
  const Spec spec = spec_of(TILEPOST_GEMM_ALL_REDUCE, std::nullopt);
  const Picked picked = plan_picked(spec, pick_of(candidates(spec)[1]));
  CHECK_THAT(explain_plans(picked.plans, nullptr),
             Catch::Contains("chosen by tuning file 'layers.tuning.yaml': 812.4 us measured on 2 x "
                             "NVIDIA H200"));
}

TEST_CASE("for any m the plan for the most rows is picked, and the others are planned as without") {
  Spec spec = spec_of(TILEPOST_GEMM_ALL_REDUCE, std::nullopt, 8192);
  spec.gemm.any_m = true;
  spec.schedule.kernels.reset();
  const Planned without = plan(spec);
  REQUIRE(without.plans.size() > 1);
  const std::vector<Plan> few = candidates(spec, 4);
  const Picked with = plan_picked(spec, pick_of(few[2]));
  CHECK(pick_of(with.plans.front()) == pick_of(few[2]));
  REQUIRE(with.plans.size() > 1);
  const auto smallest = [](const std::vector<Plan>& plans) { return pick_of(plans.back()); };
  CHECK(smallest(with.plans) == smallest(without.plans));
}

TEST_CASE("features tell all configurations of a family apart") {
  std::set<std::string> names;
  const auto add = [&](const KernelConfig& config) {
    Pick pick;
    pick.kernel = config.family->name();
    pick.variant = config.family->variant(config);
    pick.tile_m = config.tile_m, pick.tile_n = config.tile_n, pick.stages = config.stages;
    pick.split_k = config.split_k, pick.across = config.across;
    const std::string name = pick_text(pick) + " " + std::to_string(config.stages) + " " +
                             std::to_string(config.ctas_per_sm);
    INFO(name);
    CHECK(names.insert(name).second);
  };
  for (const KernelConfig& config : sm90_configs()) add(config);
  CHECK(names.size() > 90);
  for (const int64_t m : {1, 16, 64, 100, 128, 200, 256, 700, 2000}) {
    names.clear();
    for (const KernelConfig& config : small_configs(m, default_machine().gemm.in_flight_bytes))
      add(config);
  }
  for (const Arch arch : {Arch::sm_80, Arch::sm_86, Arch::sm_89, Arch::sm_90a}) {
    names.clear();
    for (const KernelConfig& config : sm80_configs(arch)) add(config);
    names.clear();
    for (const KernelConfig& config : sm80_narrow_configs(arch, TILEPOST_FAST)) add(config);
  }
}

}  // namespace
}  // namespace tilepost::test
