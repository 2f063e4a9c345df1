// The planner warns of what is possible but slow, estimated or without effect.
#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

// The warnings for a spec that has a plan.
std::string warnings(const Spec& spec) {
  const Planned planned = plan(spec);
  INFO(planned.messages);
  REQUIRE(planned.errors == 0);
  REQUIRE_FALSE(planned.plans.empty());
  REQUIRE(planned.messages.find("error") == std::string::npos);
  return planned.messages;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

int64_t number_before(const std::string& text, const std::string& mark) {
  const size_t end = text.find(mark);
  REQUIRE(end != std::string::npos);
  return std::stoll(text.substr(text.rfind(' ', end - 1) + 1));
}

TEST_CASE("a plan as it should be has no warning") {
  for (const tilepost_pattern_t pattern : kCommunicating)
    for (const Arch arch : {Arch::sm_90a, Arch::host})
      CHECK(warnings(spec_of(pattern, std::nullopt, 8192, 2048, arch)) == "");
  CHECK(warnings(spec_of(TILEPOST_GEMM, std::nullopt)) == "");
  CHECK(warnings(make_spec(1, 8192, 2048)) == "");
}

TEST_CASE("rows that TMA cannot address are slow, and padding helps") {
  const auto check = [](const Spec& spec, const Spec& padded, const std::string& how) {
    const std::string text = warnings(spec);
    INFO(text);
    CHECK(has(text, "warning: slow kernel: gemm_sm90 needs"));
    CHECK(has(text, "gemm_sm80 takes its place"));
    CHECK(has(text, how));
    // The figures are those of the plans.
    const Plan slow = only(spec), fast = only(padded);
    CHECK(number_before(text, " us predicted") == std::llround(slow.prediction.total));
    CHECK(number_before(text, " us with") == std::llround(fast.prediction.total));
    CHECK(slow.prediction.total > 1.1 * fast.prediction.total);
  };
  for (const int64_t k : {2049, 2050, 2052})
    check(make_spec(8192, 8192, k), make_spec(8192, 8192, 2056),
          "with gemm.k padded with zeros to 2056");
  check(make_spec(8192, 8190, 2048), make_spec(8192, 8192, 2048), "with gemm.n padded to 8192");
  check(make_spec(8192, 8190, 2050), make_spec(8192, 8192, 2056),
        "gemm.k padded with zeros to 2056 and gemm.n padded to 8192");
}

TEST_CASE("rows that are not aligned are no matter where they cost nothing") {
  CHECK(warnings(make_spec(8192, 8192, 2050, Arch::host)) == "");
  Spec tiles = make_spec(8192, 8190, 2048);  // they are stored as whole tiles
  tiles.schedule.layout.value = TILEPOST_TILE;
  CHECK(warnings(tiles) == "");
  CHECK(has(warnings(make_spec(8192, 8192, 2050, Arch::sm_80)), "slow kernel: gemm_sm80 moves"));
}

TEST_CASE("a spec that only the slow kernel serves is slow all the same") {
  Spec spec = make_spec(8192, 8192, 2050);
  spec.schedule.tile = wish(std::vector<int64_t>{128, 128});
  spec.schedule.stages = wish<int64_t>(7);  // no other kernel has room for so many
  CHECK(has(warnings(spec), "us predicted, less with gemm.k padded with zeros to 2056"));
}

TEST_CASE("times of another machine") {
  Spec spec = make_spec(8192, 8192, 2048);
  spec.ranks.value = 4;
  CHECK(warnings(spec) == "");
  for (const int64_t ranks : {5, 8, 16}) {
    spec.ranks.value = ranks;
    CHECK(has(warnings(spec), std::to_string(ranks) + " ranks are planned with times that were "
                                                      "measured on up to 4, on 4 x H200, NVLink"));
  }
  spec.pattern.value = TILEPOST_GEMM;  // its ranks do not communicate
  CHECK(warnings(spec) == "");
  for (const Arch arch : {Arch::sm_80, Arch::sm_86, Arch::sm_89}) {
    const std::string text = warnings(make_spec(8192, 8192, 2048, arch));
    CHECK(has(text, std::string("no machine profile for ") + name_of(arch) + ": its GEMM"));
    CHECK(has(text, "its collectives are taken to be as on 4 x H200"));
    CHECK_FALSE(has(warnings(spec_of(TILEPOST_GEMM, std::nullopt, 8192, 2048, arch)), "collect"));
  }
}

TEST_CASE("fields of the schedule that nothing reads") {
  const auto given = [](tilepost_pattern_t pattern, std::optional<tilepost_transport_t> transport) {
    Spec spec = spec_of(pattern, transport);
    spec.schedule.comm_sms = wish<int64_t>(16);
    spec.schedule.lanes = wish<int64_t>(2);
    spec.schedule.wait.value = TILEPOST_WAIT_POLL;
    return warnings(spec);
  };
  for (const auto& text : {given(TILEPOST_GEMM, std::nullopt),
                           given(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_NONE)})
    for (const char* field : {"comm_sms", "lanes", "wait"})
      CHECK(has(text, std::string("schedule.") + field + " has no effect on sm_90a"));
  for (const tilepost_transport_t transport :
       {TILEPOST_TRANSPORT_NCCL, TILEPOST_TRANSPORT_COPY_ENGINE, TILEPOST_TRANSPORT_PEER})
    CHECK(given(TILEPOST_GEMM_ALL_REDUCE, transport) == "");

  Spec tasks = spec_of(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_PEER);
  tasks.schedule.lanes = wish<int64_t>(2);
  CHECK(has(warnings(tasks), "schedule.lanes has no effect on sm_90a: helper warps"));
  Spec gathers = spec_of(TILEPOST_ALL_GATHER_GEMM, TILEPOST_TRANSPORT_NCCL);
  gathers.schedule.wait.value = TILEPOST_WAIT_STREAM;
  CHECK(has(warnings(gathers), "schedule.wait has no effect on sm_90a: the tiles themselves"));
}

TEST_CASE("fields that the host target does not read") {
  Spec spec = spec_of(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER, 256, 64, Arch::host);
  spec.schedule.sum.value = TILEPOST_SUM_ADDED;
  spec.schedule.stages = wish<int64_t>(3);
  spec.schedule.wait.value = TILEPOST_WAIT_POLL;
  for (const char* field : {"sum", "stages", "wait"})
    CHECK(has(warnings(spec), std::string("schedule.") + field + " has no effect on host"));
}

TEST_CASE("an accumulation that is asked for and is there anyway") {
  Spec spec = make_spec(8192, 8192, 2048);
  const std::string text = "precise";
  spec.gemm.accumulate = {TILEPOST_PRECISE, place_of(text)};
  CHECK(has(warnings(spec), "gemm.accumulate has no effect on sm_90a: sums of bf16 are always"));
  spec.gemm.a.value = spec.gemm.b.value = TILEPOST_E4M3;
  CHECK(warnings(spec) == "");
}

}  // namespace
}  // namespace tilepost::test
