// Plans beside which collectives of other communicators may run: no GEMM of theirs waits for other
// ranks, and what that costs is said.
#include "generator/emit/plan_json.h"
#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

constexpr tilepost_transport_t kAll[] = {TILEPOST_TRANSPORT_NCCL, TILEPOST_TRANSPORT_NCCL_SYMMETRIC,
                                         TILEPOST_TRANSPORT_COPY_ENGINE, TILEPOST_TRANSPORT_PEER,
                                         TILEPOST_TRANSPORT_NONE};

// With every transport that the spec's rules let it have; open: the planner's choice.
std::vector<std::optional<tilepost_transport_t>> allowed(tilepost_pattern_t pattern) {
  if (row_of(pattern).moves_input()) return {std::nullopt, TILEPOST_TRANSPORT_NONE};
  std::vector<std::optional<tilepost_transport_t>> transports = {std::nullopt};
  transports.insert(transports.end(), std::begin(kAll), std::end(kAll));
  return transports;
}

Spec beside(Spec spec) {
  spec.neighbours.value = true;
  return spec;
}

bool holds_sms(const Plan& plan) {
  return plan.task_parts > 0 || paths_of(plan).any(&RunPath::holds_sms);
}

}  // namespace

TEST_CASE("beside neighbours no GEMM waits for other ranks") {
  for (const tilepost_pattern_t pattern : kPatterns)
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
              CHECK(p.planned_transport == TILEPOST_TRANSPORT_NONE);
            for (const int64_t rows : {1, 63})
              if (any_m) CHECK_FALSE(holds_sms(plan_of_run(p, rows)));
          }
}

TEST_CASE("without neighbours GEMMs hold SMs where that is faster, and no plan says otherwise") {
  CHECK(holds_sms(only(spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER))));
  CHECK(holds_sms(only(spec_of(TILEPOST_ALL_GATHER_GEMM, std::nullopt))));
  CHECK(only(spec_of(TILEPOST_GEMM_ALL_REDUCE, std::nullopt)).neighbours == 0);
}

TEST_CASE("the verifier finds a plan with neighbours whose GEMM waits") {
  for (const Spec& spec : {spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER),
                           spec_of(TILEPOST_ALL_GATHER_GEMM, TILEPOST_TRANSPORT_NCCL),
                           spec_of(TILEPOST_ALL_GATHER_GEMM, TILEPOST_TRANSPORT_COPY_ENGINE)}) {
    Plan p = only(spec);
    REQUIRE(verify_plan(p).empty());
    p.neighbours = 1;
    const std::vector<std::string> wrong = verify_plan(p);
    REQUIRE(wrong.size() == 1);
    CHECK_THAT(wrong.front(), Catch::Contains("which neighbours forbid"));
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
  const Plan p = only(beside(spec_of(TILEPOST_ALL_GATHER_GEMM, std::nullopt)));
  CHECK(p.map.num_groups == 1);
  CHECK_THAT(explain_plan(p), Catch::Contains("all rows come before the GEMM"));
  Spec grouped = beside(spec_of(TILEPOST_ALL_GATHER_GEMM, std::nullopt));
  grouped.schedule.groups = wish(std::vector<int64_t>{p.waves});
  CHECK(only(grouped).map.num_groups == 1);
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
