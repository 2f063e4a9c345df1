// Several plans for any m: their ranges, that these are the best, and what the plans share.
#include <algorithm>
#include <functional>
#include <limits>
#include <random>

#include "generator/emit/plan_json.h"
#include "generator/plan/choose/plan_of_run.h"
#include "generator/plan/choose/ranges.h"
#include "generator/plan/report/explain.h"
#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

Spec ranged(tilepost_pattern_t pattern, int64_t most, int64_t kernels,
            std::optional<tilepost_transport_t> transport = std::nullopt, int64_t k = 2048,
            Arch arch = Arch::sm_90a) {
  Spec spec = spec_of(pattern, transport, most, k, arch);
  spec.gemm.any_m = true;
  spec.schedule.kernels = wish(kernels);
  return spec;
}

std::vector<Plan> plans_of(const Spec& spec) {
  const Planned planned = plan(spec);
  INFO(planned.messages);
  REQUIRE(planned.errors == 0);
  return planned.plans;
}

// The plan that serves a run of m rows.
const Plan& plan_for(const std::vector<Plan>& plans, int64_t m) {
  const auto serves = [&](const Plan& plan) {
    return m >= plan.least_m && m <= rows_of_runs(plan);
  };
  REQUIRE(std::ranges::count_if(plans, serves) == 1);
  return *std::ranges::find_if(plans, serves);
}

// The least cost of all choices of at most `most` plans that include the last one. The cost of a
// run is its time over the time of the best plan for it.
double least_cost(const std::vector<RangeTimes>& plans, size_t most) {
  const size_t last = plans.size() - 1;
  double least = std::numeric_limits<double>::infinity();
  for (uint32_t chosen = 0; chosen < 1u << last; ++chosen) {
    if (static_cast<size_t>(__builtin_popcount(chosen)) + 1 > most) continue;
    double cost = 0;
    for (size_t run = 0; run < plans[last].us.size(); ++run) {
      size_t by = 0;
      while (by < last && ((chosen >> by & 1) == 0 || run >= plans[by].us.size())) ++by;
      double best = plans[last].us[run];
      for (const RangeTimes& plan : plans)
        if (run < plan.us.size()) best = std::min(best, plan.us[run]);
      const bool slower = plans[by].us[run] > plans[last].us[run];
      cost += slower ? std::numeric_limits<double>::infinity() : plans[by].us[run] / best;
    }
    least = std::min(least, cost);
  }
  return least;
}

double cost_of(const std::vector<RangeTimes>& plans, const std::vector<size_t>& chosen) {
  std::vector<RangeTimes> only;
  for (const size_t plan : chosen) only.push_back(plans[plan]);
  double cost = 0;
  for (size_t run = 0; run < plans.back().us.size(); ++run) {
    double best = plans.back().us[run];
    for (const RangeTimes& plan : plans)
      if (run < plan.us.size()) best = std::min(best, plan.us[run]);
    const auto by =
        std::ranges::find_if(only, [&](const RangeTimes& plan) { return run < plan.us.size(); });
    cost += by->us[run] / best;
  }
  return cost;
}

TEST_CASE("no other choice of ranges is better by what a kernel has to save") {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> us(10, 40);
  for (int round = 0; round < 300; ++round) {
    std::vector<RangeTimes> plans;
    const size_t count = 1 + random() % 7;
    for (size_t i = 1; i <= count; ++i) {
      plans.push_back({static_cast<int64_t>(i), {}});
      for (size_t run = 0; run < 2 * i; ++run) plans.back().us.push_back(us(random));
    }
    const auto runs = static_cast<double>(plans.back().us.size());
    for (const size_t most : {1, 2, 3, 4}) {
      const std::vector<size_t> chosen = best_ranges(plans, most);
      REQUIRE(chosen.size() <= most);
      REQUIRE(chosen.back() == count - 1);
      REQUIRE(std::ranges::is_sorted(chosen));
      const double cost = cost_of(plans, chosen), least = least_cost(plans, most);
      const auto spare = static_cast<double>(most - chosen.size());
      REQUIRE(cost <= least + 0.02 * runs * spare + 1e-9);
    }
  }
}

TEST_CASE("a kernel that saves too little is left out") {
  const std::vector<RangeTimes> alike = {{16, {99.0, 99.0}}, {64, {100.0, 100.0, 100.0, 100.0}}};
  CHECK(best_ranges(alike, 4) == std::vector<size_t>{1});
  const std::vector<RangeTimes> better = {{16, {50.0, 50.0}}, {64, {100.0, 100.0, 100.0, 100.0}}};
  CHECK(best_ranges(better, 4) == std::vector<size_t>{0, 1});
  CHECK(best_ranges(better, 1) == std::vector<size_t>{1});
}

TEST_CASE("every number of rows is one plan's, which is no slower than a single one") {
  const auto pattern =
      GENERATE(TILEPOST_GEMM, TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER,
               TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_ALL_GATHER_GEMM, TILEPOST_ALL_TO_ALL_GEMM);
  for (const int64_t most : {1, 17, 300, 4096, 8192})
    for (const int64_t kernels : {2, 4}) {
      CAPTURE(pattern, most, kernels);
      const std::vector<Plan> plans = plans_of(ranged(pattern, most, kernels));
      const Plan single = only(ranged(pattern, most, 1));
      REQUIRE(plans.size() <= static_cast<size_t>(kernels));
      REQUIRE(plans.front().map_hash == single.map_hash);
      REQUIRE(plans.back().least_m == 1);
      REQUIRE(rows_of_runs(plans.front()) == most);
      for (size_t i = 0; i < plans.size(); ++i) {
        REQUIRE(plans[i].range == static_cast<int>(i));
        REQUIRE(plans[i].takes_turns() == (plans.size() > 1));
        REQUIRE(verify_plan(host_twin(plans[i])).empty());
      }
      for (const int64_t m : range_runs(range_bounds(most))) {
        const double us = plan_of_run(plan_for(plans, m), m).prediction.total;
        REQUIRE(us <= plan_of_run(single, m).prediction.total);
      }
      for (int64_t m = 1; m <= most; m += 1 + m / 7) {
        const double us = plan_of_run(plan_for(plans, m), m).prediction.total;
        REQUIRE(us <= 1.05 * plan_of_run(single, m).prediction.total);
      }
    }
}

TEST_CASE("few rows of a large bound take what they take by themselves") {
  const std::vector<Plan> plans = plans_of(ranged(TILEPOST_GEMM_ALL_REDUCE, 8192, 4));
  REQUIRE(plans.size() == 4);
  CHECK(plans.front().planned_transport == TILEPOST_TRANSPORT_PEER);
  CHECK(plans.back().planned_transport == TILEPOST_TRANSPORT_PEER_TILES);
  const Plan few = only(spec_of(TILEPOST_GEMM_ALL_REDUCE, std::nullopt, 64));
  CHECK(plan_of_run(plan_for(plans, 64), 64).prediction.total <= 1.05 * few.prediction.total);
  CHECK(plan_of_run(plans.front(), 64).prediction.total > 2 * few.prediction.total);
}

TEST_CASE("what is fixed holds for all ranges") {
  Spec spec = ranged(TILEPOST_GEMM_ALL_REDUCE, 4096, 4, TILEPOST_TRANSPORT_PEER);
  for (const Plan& plan : plans_of(spec)) CHECK(plan.planned_transport == TILEPOST_TRANSPORT_PEER);
  spec.transport.value = std::nullopt;
  spec.schedule.tile = wish(std::vector<int64_t>{128, 128});
  for (const Plan& plan : plans_of(spec)) {
    CHECK(plan.map.tile_m == 128);
    CHECK(plan.map.tile_n == 128);
  }
}

TEST_CASE("on the host each has a quarter of the rows of the next") {
  Spec spec = ranged(TILEPOST_GEMM_REDUCE_SCATTER, 300, 4, std::nullopt, 64, Arch::host);
  const auto rows = [&] {
    std::vector<int64_t> found;
    for (const Plan& plan : plans_of(spec)) found.push_back(rows_of_runs(plan));
    return found;
  };
  CHECK(rows() == std::vector<int64_t>{300, 75, 19, 5});
  spec.gemm.m.value = 3;
  CHECK(rows() == std::vector<int64_t>{3, 1});
}

TEST_CASE("each architecture has ranges of its own") {
  Spec spec = ranged(TILEPOST_GEMM_ALL_REDUCE, 4096, 3);
  spec.archs.value = {Arch::sm_80, Arch::sm_90a};
  const std::vector<Plan> plans = plans_of(spec);
  for (const Arch arch : spec.archs.value) {
    std::vector<Plan> own;
    for (const Plan& plan : plans)
      if (plan.arch == arch) own.push_back(plan);
    REQUIRE(!own.empty());
    CHECK(own.front().range == 0);
    CHECK(own.back().least_m == 1);
  }
}

TEST_CASE("a spec that says nothing of kernels has as many as are worth it, on the host one") {
  Spec spec = ranged(TILEPOST_GEMM_ALL_REDUCE, 8192, 4);
  const size_t asked = plans_of(spec).size();
  spec.schedule.kernels.reset();
  CHECK(plans_of(spec).size() == asked);
  spec.archs.value = {Arch::host};
  CHECK(plans_of(spec).size() == 1);
}

TEST_CASE("where one kernel serves all runs, more are not looked for, and that is said") {
  const auto said = [](const std::function<void(Spec&)>& change) {
    Spec spec = ranged(TILEPOST_GEMM_ALL_TO_ALL, 300, 4, std::nullopt, 64, Arch::host);
    change(spec);
    const Planned planned = plan(spec);
    CHECK(planned.plans.size() == 1);
    return planned.messages;
  };
  const std::string no_effect = "schedule.kernels has no effect on host: ";
  CHECK_THAT(said([](Spec& spec) { spec.gemm.any_m = false; }),
             Catch::Contains(no_effect + "all runs have the same m; remove it"));
  for (const auto routing : {TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS})
    CHECK_THAT(said([&](Spec& spec) { spec.routing.value = routing; }),
               Catch::Contains(no_effect + "with routing '") &&
                   Catch::Contains("' every rank has an m of its own; remove it"));
  CHECK_THAT(said([](Spec& spec) { spec.schedule.layout.value = TILEPOST_TILE; }),
             Catch::Contains(no_effect + "the output stays in the tiles of one kernel; remove it"));
  CHECK(said([](Spec& spec) { spec.schedule.kernels = wish<int64_t>(1); }) == "");
}

TEST_CASE("explain and JSON say which rows are whose") {
  const std::vector<Plan> plans = plans_of(ranged(TILEPOST_GEMM_ALL_REDUCE, 4096, 4));
  const std::string text = explain_plans(plans), json = plans_to_json(plans);
  CHECK_THAT(text, Catch::StartsWith("attn_out: gemm_all_reduce on sm_90a, 4 kernels for ranges of "
                                     "m\n"));
  for (const Plan& plan : plans) {
    const auto least = std::to_string(plan.least_m), most = std::to_string(rows_of_runs(plan));
    CHECK_THAT(text, Catch::Contains(" " + least + "-" + most + "  "));
    CHECK_THAT(json, Catch::Contains("\"least_m\": " + least + ","));
  }
  const std::vector<Plan> one = plans_of(ranged(TILEPOST_GEMM_ALL_REDUCE, 4096, 1));
  CHECK(explain_plans(one) == explain_plan(one.front()));
  CHECK_THAT(plans_to_json(one), !Catch::Contains("least_m"));
}

}  // namespace
}  // namespace tilepost::test
