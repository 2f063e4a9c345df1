// Runs that were measured, beside the prediction (explain --measured).
#include <fmt/format.h>

#include "generator/plan/report/explain.h"
#include "generator/plan/report/picture.h"
#include "generator/plan/report/spans.h"
#include "generator/plan/report/trace.h"
#include "tests/unit/plan/only_plan.h"
#include "tests/unit/plan/svg_reader.h"

namespace tilepost::test {
namespace {

// A run that took what was predicted.
Measured as_predicted(const Plan& plan) {
  const Prediction& prediction = plan.prediction;
  Measured measured;
  measured.rank = 3;
  measured.total = prediction.total;
  for (size_t g = 0; g < plan.tile_map().groups.size(); ++g) {
    Measured::Group& group = measured.groups.emplace_back();
    if (plan.tile_map().groups[g].num_tiles > 0) group.tiles_end = prediction.group_ready[g];
    if (prediction.collective_end[g] <= prediction.collective_start[g]) continue;
    group.steps_begin = prediction.collective_start[g];
    group.steps_end = prediction.collective_end[g];
  }
  return measured;
}

void check_same(const std::vector<Span>& found, const std::vector<Span>& wanted) {
  REQUIRE(found.size() == wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i].group == wanted[i].group);
    CHECK(found[i].begin == Approx(wanted[i].begin));
    CHECK(found[i].end == Approx(wanted[i].end));
  }
}

Plan overlapping(tilepost_pattern_t pattern) {
  Spec spec = make_spec(8192, 8192, 2048);
  spec.pattern.value = pattern;
  spec.transport.value = TILEPOST_TRANSPORT_NCCL;
  return only(spec);
}

TEST_CASE("a run that took what was predicted has the predicted timeline") {
  for (const tilepost_pattern_t pattern : {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER,
                                           TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_ALL_GATHER_GEMM}) {
    INFO(name_of(pattern));
    const Plan plan = overlapping(pattern);
    const Timeline predicted = *timeline_of(plan), measured = timeline_of(plan, as_predicted(plan));
    check_same(measured.gemm, predicted.gemm);
    check_same(measured.exposed, predicted.exposed);
    CHECK(measured.waves == predicted.waves);
    REQUIRE(measured.lanes.size() == predicted.lanes.size());
    for (size_t lane = 0; lane < measured.lanes.size(); ++lane)
      check_same(measured.lanes[lane], predicted.lanes[lane]);
    CHECK(measured.total == predicted.total);
    CHECK(measured.load.empty());
  }
}

TEST_CASE("what a run has not noted is not drawn, and tiles may end out of order") {
  const Plan plan = overlapping(TILEPOST_GEMM_ALL_REDUCE);
  Measured measured = as_predicted(plan);
  REQUIRE(measured.groups.size() > 2);
  for (Measured::Group& group : measured.groups) group.steps_begin.reset();
  std::swap(measured.groups[0].tiles_end, measured.groups[1].tiles_end);
  measured.groups[2].tiles_end.reset();
  const Timeline timeline = timeline_of(plan, measured);
  REQUIRE(timeline.gemm.size() == measured.groups.size() - 1);
  for (const Span& span : timeline.gemm) CHECK(span.length() >= 0);
  for (const std::vector<Span>& lane : timeline.lanes)
    for (size_t i = 1; i < lane.size(); ++i) CHECK(lane[i].begin == lane[i - 1].end);
  for (Measured::Group& group : measured.groups) group = {};
  CHECK(timeline_of(plan, measured).gemm.empty());
  CHECK(timeline_of(plan, measured).lanes.empty());
}

TEST_CASE("text, picture and trace show the measured run beside the prediction") {
  const Plan plan = overlapping(TILEPOST_GEMM_ALL_REDUCE);
  Measured measured = as_predicted(plan);
  measured.total *= 1.5;
  const std::string text = explain_plan(plan, &measured);
  CHECK(text.find(fmt::format("measured on rank 3: {:.1f} us, 1.50 times the predicted",
                              measured.total)) != std::string::npos);
  CHECK(explain_plan(plan).find("measured on") == std::string::npos);
  const std::string svg = draw_picture({plan}, &measured);
  CHECK(XmlReader(svg).wrong() == "");
  CHECK(svg.find(fmt::format("As measured on rank 3: {:.0f} us", measured.total)) !=
        std::string::npos);
  CHECK(draw_picture({plan}).find("As measured") == std::string::npos);
  CHECK(trace_of(plan, &measured).find("as measured on rank 3") != std::string::npos);
}

}  // namespace
}  // namespace tilepost::test
