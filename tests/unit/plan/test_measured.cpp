// Measured times of schedules on four H200 (bf16), against the planner's predictions of the same
// schedules.
#include <cmath>

#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

struct Measured {
  tilepost_pattern_t pattern;
  int64_t m, n, k;
  std::vector<int64_t> tile;
  int64_t stages, ctas, lanes;
  std::vector<int64_t> groups;
  double us;
};

// Medians, in us. One process per GPU, clusters of 2.
const Measured kMeasured[] = {
    {TILEPOST_GEMM_REDUCE_SCATTER, 8192, 8192, 2048, {128, 256}, 3, 20, 1, {3, 4, 6, 6}, 578},
    {TILEPOST_GEMM_REDUCE_SCATTER, 8192, 8192, 2048, {128, 256}, 3, 20, 2, {3, 3, 4, 4, 5}, 569},
    {TILEPOST_GEMM_REDUCE_SCATTER, 8192, 8192, 2048, {128, 256}, 3, 24, 1, {5, 5, 5, 5}, 598},
    {TILEPOST_GEMM_REDUCE_SCATTER,
     8192,
     8192,
     2048,
     {128, 256},
     3,
     24,
     2,
     {3, 2, 3, 2, 3, 3, 4},
     548},
    {TILEPOST_GEMM_REDUCE_SCATTER, 8192, 8192, 2048, {128, 256}, 3, 28, 1, {6, 5, 5, 5}, 613},
    {TILEPOST_GEMM_REDUCE_SCATTER, 8192, 8192, 2048, {128, 256}, 3, 28, 2, {4, 4, 3, 3, 4, 3}, 547},
    {TILEPOST_GEMM_REDUCE_SCATTER, 8192, 8192, 2048, {128, 256}, 3, 32, 1, {6, 5, 5, 5}, 618},
    {TILEPOST_GEMM_REDUCE_SCATTER,
     8192,
     8192,
     2048,
     {128, 256},
     3,
     32,
     2,
     {4, 4, 3, 3, 2, 3, 2},
     542},
    {TILEPOST_GEMM_ALL_TO_ALL, 8192, 8192, 2048, {128, 256}, 3, 16, 1, {3, 4, 5, 6}, 655},
    {TILEPOST_GEMM_ALL_TO_ALL, 8192, 8192, 2048, {128, 128}, 5, 16, 2, {3, 4, 7, 9, 13}, 755},
    {TILEPOST_GEMM_ALL_TO_ALL, 8192, 8192, 2048, {128, 256}, 3, 24, 1, {5, 5, 5, 5}, 628},
    {TILEPOST_GEMM_ALL_TO_ALL, 8192, 8192, 2048, {128, 256}, 3, 24, 2, {2, 1, 2, 3, 3, 4, 5}, 594},
    {TILEPOST_GEMM_ALL_TO_ALL, 8192, 8192, 2048, {128, 256}, 3, 32, 1, {6, 5, 5, 5}, 618},
    {TILEPOST_GEMM_ALL_TO_ALL, 8192, 8192, 2048, {128, 256}, 3, 32, 2, {4, 4, 3, 3, 3, 4}, 575},
    {TILEPOST_GEMM_ALL_TO_ALL, 8192, 8192, 2048, {128, 256}, 3, 40, 1, {5, 5, 5, 4, 4}, 638},
    {TILEPOST_GEMM_ALL_TO_ALL, 8192, 8192, 2048, {128, 256}, 3, 40, 2, {6, 4, 3, 3, 2, 2, 3}, 581},
    {TILEPOST_GEMM_ALL_REDUCE, 8192, 8192, 2048, {128, 192}, 4, 32, 2, {2, 3, 5, 8, 11}, 801},
    {TILEPOST_GEMM_ALL_REDUCE, 8192, 8192, 2048, {128, 256}, 3, 36, 2, {3, 4, 6, 9}, 789},
    {TILEPOST_GEMM_ALL_REDUCE, 8192, 8192, 2048, {128, 256}, 3, 40, 2, {2, 3, 5, 6, 7}, 768},
    {TILEPOST_GEMM_ALL_REDUCE, 8192, 8192, 2048, {128, 256}, 3, 44, 2, {1, 2, 3, 5, 6, 7}, 764},
    {TILEPOST_GEMM_REDUCE_SCATTER, 8192, 8192, 7168, {128, 256}, 3, 8, 1, {9, 4, 2, 2}, 1559},
    {TILEPOST_GEMM_REDUCE_SCATTER, 8192, 8192, 7168, {128, 256}, 3, 12, 1, {12, 4, 2}, 1546},
    {TILEPOST_GEMM_REDUCE_SCATTER, 8192, 8192, 7168, {128, 256}, 3, 12, 2, {10, 5, 2, 1}, 1591},
    {TILEPOST_GEMM_REDUCE_SCATTER, 8192, 8192, 7168, {128, 256}, 3, 16, 1, {12, 4, 2}, 1558},
    {TILEPOST_GEMM_REDUCE_SCATTER, 8192, 8192, 7168, {128, 256}, 3, 16, 2, {11, 4, 2, 1}, 1581},
    {TILEPOST_GEMM_REDUCE_SCATTER, 8192, 8192, 7168, {128, 192}, 4, 24, 1, {18, 5, 3}, 1589},
    {TILEPOST_GEMM_REDUCE_SCATTER, 8192, 8192, 7168, {128, 192}, 4, 24, 2, {18, 5, 2, 1}, 1576},
    {TILEPOST_GEMM_ALL_TO_ALL,
     8192,
     8192,
     7168,
     {128, 256},
     3,
     8,
     1,
     {2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
     1612},
    {TILEPOST_GEMM_ALL_REDUCE, 8192, 8192, 7168, {128, 256}, 3, 16, 1, {8, 5, 3, 2}, 1578},
    {TILEPOST_GEMM_REDUCE_SCATTER, 4096, 8192, 2048, {128, 256}, 3, 24, 2, {2, 1, 2, 3, 2}, 330},
    {TILEPOST_GEMM_REDUCE_SCATTER,
     16384,
     8192,
     2048,
     {128, 256},
     3,
     24,
     2,
     {5, 4, 4, 4, 4, 4, 4, 5, 5},
     1003},
    {TILEPOST_GEMM_REDUCE_SCATTER,
     8192,
     4096,
     3584,
     {128, 256},
     3,
     16,
     2,
     {1, 1, 1, 1, 1, 1, 1, 1, 1},
     430},
    {TILEPOST_GEMM_REDUCE_SCATTER,
     4096,
     12288,
     3072,
     {128, 192},
     4,
     16,
     2,
     {3, 2, 2, 2, 3, 2, 2, 2},
     571},
    {TILEPOST_GEMM_ALL_TO_ALL, 4096, 8192, 2048, {128, 256}, 3, 36, 2, {3, 2, 2, 2, 2}, 325},
    {TILEPOST_GEMM_ALL_TO_ALL, 16384, 8192, 2048, {128, 256}, 3, 24, 1, {9, 8, 8, 7, 7}, 1132},
    {TILEPOST_GEMM_ALL_TO_ALL, 8192, 4096, 3584, {128, 256}, 3, 12, 1, {3, 2, 2, 2}, 519},
    {TILEPOST_GEMM_ALL_TO_ALL, 4096, 12288, 3072, {128, 256}, 3, 24, 1, {4, 4, 3, 2, 2}, 592},
    {TILEPOST_GEMM_ALL_REDUCE, 4096, 8192, 2048, {128, 256}, 3, 32, 2, {1, 2, 3, 5}, 450},
    {TILEPOST_GEMM_ALL_REDUCE, 16384, 8192, 2048, {128, 256}, 3, 36, 2, {3, 4, 5, 8, 10, 14}, 1441},
    {TILEPOST_GEMM_ALL_REDUCE, 8192, 4096, 3584, {128, 256}, 3, 32, 2, {1, 2, 2, 2, 2, 2}, 517},
    {TILEPOST_GEMM_ALL_REDUCE, 4096, 12288, 3072, {128, 256}, 3, 32, 2, {1, 2, 2, 2, 3, 3, 3}, 700},
};

Spec spec_of(const Measured& run) {
  Spec spec = make_spec(run.m, run.n, run.k);
  spec.pattern.value = run.pattern;
  spec.transport.value = TILEPOST_TRANSPORT_NCCL;
  spec.schedule.tile = wish(run.tile);
  spec.schedule.stages = wish(run.stages);
  spec.schedule.cluster = wish<int64_t>(2);
  spec.schedule.comm_sms = wish(run.ctas);
  spec.schedule.lanes = wish(run.lanes);
  spec.schedule.groups = wish(run.groups);
  return spec;
}

// Runs of one schedule differ by 1 to 2 %, with K = 7168 by 4 %.
TEST_CASE("predictions of schedules fit what was measured") {
  double squares = 0;
  for (const Measured& run : kMeasured) {
    const double predicted = only(spec_of(run)).prediction.total, error = predicted / run.us - 1;
    INFO(name_of(run.pattern) << " " << run.m << "x" << run.n << "x" << run.k << ", " << run.ctas
                              << " CTAs in " << run.lanes << " lanes: predicted " << predicted
                              << ", measured " << run.us);
    CHECK(std::abs(error) < 0.09);
    squares += error * error;
  }
  CHECK(std::sqrt(squares / std::size(kMeasured)) < 0.025);
}

// Times in us that were measured for each pattern: one NCCL collective and the cuBLASLt GEMM, one
// after the other.
TEST_CASE("predictions of sequences fit what was measured") {
  const int64_t shapes[][3] = {{8192, 8192, 2048}, {4096, 8192, 2048}, {16384, 8192, 2048},
                               {8192, 8192, 7168}, {8192, 4096, 3584}, {4096, 12288, 3072}};
  const std::pair<tilepost_pattern_t, std::vector<double>> measured[] = {
      {TILEPOST_GEMM_REDUCE_SCATTER, {695, 370, 1358, 1622, 506, 650}},
      {TILEPOST_GEMM_ALL_TO_ALL, {674, 362, 1313, 1602, 496, 638}},
      {TILEPOST_GEMM_ALL_REDUCE, {960, 502, 1869, 1860, 635, 850}},
      {TILEPOST_ALL_GATHER_GEMM, {451, 247, 885, 1565, 478, 472}}};
  for (const auto& [pattern, times] : measured)
    for (size_t i = 0; i < times.size(); ++i) {
      Spec spec = make_spec(shapes[i][0], shapes[i][1], shapes[i][2]);
      spec.pattern.value = pattern;
      spec.transport.value = TILEPOST_TRANSPORT_NONE;
      const double predicted = only(spec).prediction.total;
      INFO(name_of(pattern) << " " << shapes[i][0] << "x" << shapes[i][1] << "x" << shapes[i][2]
                            << ": predicted " << predicted << ", measured " << times[i]);
      CHECK(std::abs(predicted / times[i] - 1) < 0.05);
    }
}

TEST_CASE("the budget chosen is among those measured best") {
  const auto chosen = [](tilepost_pattern_t pattern) {
    Spec spec = make_spec(8192, 8192, 2048);
    spec.pattern.value = pattern;
    spec.transport.value = TILEPOST_TRANSPORT_NCCL;
    return only(spec);
  };
  for (const tilepost_pattern_t pattern :
       {TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_GEMM_ALL_TO_ALL}) {
    const Plan p = chosen(pattern);
    CHECK(p.comm_lanes == 2);
    CHECK(p.comm_ctas >= 24);
    CHECK(p.comm_ctas <= 36);
  }
  const Plan reduced = chosen(TILEPOST_GEMM_ALL_REDUCE);
  CHECK(reduced.comm_lanes == 2);
  CHECK(reduced.comm_ctas >= 36);
}

TEST_CASE("what every pattern does has a measured time") {
  const MachineProfile& profile = default_machine();
  for (const PatternRow& row : tilepost::kPatterns) {
    if (!row.communicates()) continue;
    INFO(row.name);
    CHECK(profile.collectives.sequence.contains(whole_collective(row)));
    CHECK(profile.collectives.groups.contains(group_collective(row)));
    CHECK(profile.collectives.symmetric.contains(group_collective(row)));
  }
}

TEST_CASE("plans are for the machine that the planner is given") {
  MachineProfile other = default_machine();
  other.name = "links of half the width";
  for (CollectiveProfiles* profiles : {&other.collectives.groups, &other.collectives.sequence})
    for (auto& [pattern, collective] : *profiles) {
      for (ProfilePoint& point : collective.us_per_mib) point.y *= 2;
      for (ProfilePoint& point : collective.wire_us_per_mib) point.y *= 2;
    }
  other.accuracy.slack.lanes = other.accuracy.slack.one_lane = 0.1;
  other.accuracy.margin = 0.05;
  other.collectives.stream_wait_us = 12;
  Spec spec = make_spec(8192, 8192, 2048);
  spec.gemm.any_m = true;
  spec.transport.value = TILEPOST_TRANSPORT_NCCL;
  spec.schedule.wait.value = TILEPOST_WAIT_STREAM;
  const Planned planned = plan(spec, other);
  REQUIRE(planned.plans.size() == 1);
  const Plan& p = planned.plans.front();
  CHECK(p.profile == other.name);
  CHECK(p.prediction.total > 1.5 * only(spec).prediction.total);
  CHECK(p.model.slack == 0.1);
  CHECK(p.model.margin == 0.05);
  CHECK(p.wait_us == 12);
}

}  // namespace
}  // namespace tilepost::test
