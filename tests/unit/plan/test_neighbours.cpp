// Plans beside which collectives of other communicators may run. None of their GEMMs waits for
// other ranks, and explain names the cost of that.
#include "generator/emit/plan_json.h"
#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

// The transports that the spec's rules allow for the pattern, and "open" for the planner's choice.
std::vector<std::optional<tilepost_transport_t>> allowed(tilepost_pattern_t pattern) {
  std::vector<std::optional<tilepost_transport_t>> transports = {std::nullopt};
  for (const tilepost_transport_t transport : kOfManyRows) {
    const bool pushed = transport == TILEPOST_TRANSPORT_PEER && row_of(pattern).moves_input();
    const bool windows = transport == TILEPOST_TRANSPORT_NCCL_SYMMETRIC;
    if (!pushed && !(windows && pattern == TILEPOST_ALL_TO_ALL_GEMM))
      transports.push_back(transport);
  }
  return transports;
}

constexpr tilepost_pattern_t kInputs[] = {TILEPOST_ALL_GATHER_GEMM, TILEPOST_ALL_TO_ALL_GEMM};

Spec beside(Spec spec) {
  spec.neighbours.value = true;
  return spec;
}

bool holds_sms(const Plan& plan) {
  return plan.task_parts > 0 || paths_of(plan).any(&RunPath::waits_on_sms);
}

}  // namespace

TEST_CASE("beside neighbours no GEMM waits for other ranks") {
  for (const tilepost_pattern_t pattern : kCommunicating)
    for (const auto& transport : allowed(pattern))
      for (const Arch arch : {Arch::sm_90a, Arch::sm_80, Arch::host})
        for (const int64_t m : {64, 1000, 8192})
          for (const bool any_m : {false, true}) {
            if (transport == TILEPOST_TRANSPORT_PEER && arch == Arch::sm_80) continue;
            Spec spec = beside(spec_of(pattern, transport, m, 1024, arch));
            spec.gemm.any_m = any_m;
            INFO(name_of(pattern) << " " << (transport ? name_of(*transport) : "auto") << " "
                                  << name_of(arch) << " m " << m << " any " << any_m);
            const Plan p = only(spec);
            CHECK(p.neighbours == 1);
            CHECK_FALSE(holds_sms(p));
            CHECK_FALSE(holds_sms(host_twin(p)));
            if (transport) CHECK(p.planned_transport == *transport);
            if (row_of(pattern).moves_input())
              CHECK(p.planned_transport != TILEPOST_TRANSPORT_PEER);
            if (!any_m) continue;
            for (const int64_t rows : {1, 63}) {
              const Plan run = plan_of_run(p, rows);
              CHECK_FALSE(holds_sms(run));
              if (row_of(pattern).moves_input()) CHECK(verify_plan(run).empty());
            }
          }
}

TEST_CASE("without neighbours GEMMs hold SMs where that is faster, and no plan says otherwise") {
  CHECK(holds_sms(only(spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER))));
  CHECK(holds_sms(only(spec_of(TILEPOST_ALL_GATHER_GEMM, std::nullopt))));
  CHECK(only(spec_of(TILEPOST_GEMM_ALL_REDUCE, std::nullopt)).neighbours == 0);
}

TEST_CASE("the verifier finds a plan with neighbours whose GEMM waits") {
  for (const Spec& spec :
       {spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER),
        spec_of(TILEPOST_ALL_GATHER_GEMM, TILEPOST_TRANSPORT_COPY_ENGINE),
        spec_of(TILEPOST_ALL_GATHER_GEMM, TILEPOST_TRANSPORT_PEER),
        spec_of(TILEPOST_ALL_TO_ALL_GEMM, TILEPOST_TRANSPORT_PEER, 1000, 512, Arch::host)}) {
    Plan p = only(spec);
    REQUIRE(verify_plan(p).empty());
    p.neighbours = 1;
    const std::vector<std::string> wrong = verify_plan(p);
    REQUIRE_FALSE(wrong.empty());
    CHECK_THAT(wrong.front(), Catch::Contains("which neighbours forbid"));
  }
}

TEST_CASE("rows that arrive beside neighbours are launched group by group") {
  for (const tilepost_pattern_t pattern : kInputs)
    for (const auto transport : {TILEPOST_TRANSPORT_NCCL, TILEPOST_TRANSPORT_COPY_ENGINE})
      for (const Arch arch : {Arch::sm_90a, Arch::sm_80, Arch::host}) {
        INFO(name_of(pattern) << " " << name_of(transport) << " " << name_of(arch));
        Plan p = only(beside(spec_of(pattern, transport, 4096, 2048, arch)));
        CHECK(paths_of(p).planned.waits == Waits::launches);
        CHECK(p.task_parts == 0);
        REQUIRE(p.map.num_groups > 1);
        int waves = 0;  // of all launches, each of which has a last wave of its own
        for (size_t g = 0; g < p.tile_map().groups.size(); ++g) {
          const int tiles = p.tile_map().groups[g].num_tiles;
          CHECK(p.group_waves[g] == (tiles + p.at_once() - 1) / p.at_once());
          waves += p.group_waves[g];
        }
        CHECK(p.waves == waves);
        CHECK_THAT(explain_plan(p), Catch::Contains(" launches; ") &&
                                        Catch::Contains("launched for each group when its rows"));
        CHECK_THAT(plans_to_json({p}), Catch::Contains("\"launches\": "));
        ++p.waves;
        REQUIRE(verify_plan(p).size() == 1);
      }
}

TEST_CASE("routed rows are launched group by group too, and runs of any m") {
  for (const auto routing : {TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS})
    for (const auto transport : {TILEPOST_TRANSPORT_NCCL, TILEPOST_TRANSPORT_COPY_ENGINE}) {
      Spec spec = beside(spec_of(TILEPOST_ALL_TO_ALL_GEMM, transport, 1024));
      spec.routing.value = routing;
      spec.gemm.any_m = true;
      const Plan p = only(spec);
      INFO(name_of(routing) << " " << name_of(transport));
      CHECK(paths_of(p).planned.waits == Waits::launches);
      REQUIRE(p.map.num_groups > 1);
      for (const int64_t rows : {1, 129, 1000, 4000}) {
        const Plan run = plan_of_run(p, rows);
        INFO(rows);
        CHECK(verify_plan(run).empty());
        CHECK(run.map.num_groups <= p.map.num_groups);
      }
    }
}

TEST_CASE("launches are predicted one behind the other, none before its rows") {
  for (const tilepost_pattern_t pattern : kInputs)
    for (const auto transport : {TILEPOST_TRANSPORT_NCCL, TILEPOST_TRANSPORT_COPY_ENGINE}) {
      const Plan p = only(beside(spec_of(pattern, transport, 8192, 4096)));
      INFO(name_of(pattern) << " " << name_of(transport));
      const Prediction& prediction = p.prediction;
      double before = 0;
      for (size_t g = 0; g < p.tile_map().groups.size(); ++g) {
        const double computed =
            p.group_waves[g] > 0 ? p.model.start + p.group_waves[g] * p.model.wave : 0;
        before = std::max(before, prediction.collective_end[g]) + computed;
        CHECK(prediction.group_ready[g] == Approx(before));
      }
      CHECK(prediction.total == Approx(before));
      CHECK(prediction.total < prediction.sequence);
      CHECK(prediction.total > prediction.without_neighbours);
    }
}

TEST_CASE("what neighbours cost is explained") {
  const Spec spec = spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER);
  const Plan alone = only(spec), p = only(beside(spec));
  CHECK(p.prediction.without_neighbours == alone.prediction.total);
  CHECK(p.prediction.total > alone.prediction.total);
  CHECK_THAT(explain_plan(p), Catch::Contains("neighbours   safe beside other communicators'") &&
                                  Catch::Contains("us without\n"));
  CHECK_THAT(plans_to_json({p}), Catch::Contains("\"neighbours\": true") &&
                                     Catch::Contains("\"without_neighbours\": "));
  CHECK_THAT(prediction_to_json(p), Catch::Contains("\"us_without_neighbours\": "));

  const Plan free = only(beside(spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_NCCL)));
  CHECK_THAT(explain_plan(free), Catch::Contains("costs nothing: "));
  CHECK_THAT(explain_plan(alone), !Catch::Contains("neighbours"));
  CHECK_THAT(prediction_to_json(alone), !Catch::Contains("neighbours"));
}

TEST_CASE("rows that come before the GEMM are one collective") {
  const Plan p = only(beside(spec_of(TILEPOST_ALL_GATHER_GEMM, TILEPOST_TRANSPORT_NONE)));
  CHECK(p.map.num_groups == 1);
  CHECK_THAT(explain_plan(p), Catch::Contains("all rows come before the GEMM"));
  CHECK_THAT(plans_to_json({p}), !Catch::Contains("\"launches\": "));
}

TEST_CASE("beside neighbours rows come before the GEMM where launches do not pay") {
  const Plan few = only(beside(spec_of(TILEPOST_ALL_GATHER_GEMM, std::nullopt, 512)));
  CHECK(few.planned_transport == TILEPOST_TRANSPORT_NONE);
  Spec spec = beside(spec_of(TILEPOST_ALL_GATHER_GEMM, std::nullopt));
  spec.gemm.any_m = true;
  const Plan any = only(spec);
  CHECK(any.planned_transport == TILEPOST_TRANSPORT_COPY_ENGINE);
  CHECK(plan_of_run(any, 64).transport == TILEPOST_TRANSPORT_NONE);
}

TEST_CASE("groups that are asked for are launches beside neighbours") {
  Spec spec = beside(spec_of(TILEPOST_ALL_GATHER_GEMM, TILEPOST_TRANSPORT_NCCL));
  spec.schedule.groups = wish(std::vector<int64_t>{1, 1, 2});
  CHECK(only(spec).map.num_groups == 1 + 3);
}

TEST_CASE("a field that does nothing is named") {
  Spec spec = beside(make_spec(1024, 1024, 1024));
  spec.pattern.value = TILEPOST_GEMM;
  const Planned planned = plan(spec);
  CHECK(planned.errors == 0);
  CHECK_THAT(planned.messages, Catch::Contains("neighbours has no effect on sm_90a: pattern 'gemm' "
                                               "does not communicate"));
}

}  // namespace tilepost::test
