// The search by which constants are found.
#include <cmath>

#include "generator/profile/fit/optimizer.h"
#include "tests/catch.h"

using namespace tilepost;

namespace {

struct Line {
  double once = 1, slope = 1;
};

std::vector<Observation<Line>> observe(double once, double slope, double outlier) {
  std::vector<Observation<Line>> seen;
  for (int x = 1; x <= 40; ++x) {
    const double y = (once + slope * x) * (x == 17 ? outlier : 1);
    seen.push_back({y, [x](const Line& line) { return line.once + line.slope * x; },
                    static_cast<uint64_t>(x), 1});
  }
  return seen;
}

const std::vector<FitParameter<Line>> kParameters = {
    {"once", [](Line& line) -> double& { return line.once; }, 0, 1000},
    {"slope", [](Line& line) -> double& { return line.slope; }, 0, 1000}};

}  // namespace

TEST_CASE("a line's constants are found again, from far away") {
  Line line;
  const FitError error = fit(line, kParameters, observe(20, 3.5, 1));
  CHECK(line.once == Approx(20).epsilon(0.01));
  CHECK(line.slope == Approx(3.5).epsilon(0.01));
  CHECK(error.count > 0);
  CHECK(error.worst < 0.01);
}

TEST_CASE("one disturbed measurement moves a line little") {
  Line line;
  fit(line, kParameters, observe(20, 3.5, 1.8));
  CHECK(line.slope == Approx(3.5).epsilon(0.03));
}

TEST_CASE("parameters stay within their bounds") {
  Line line;
  std::vector<FitParameter<Line>> bounded = kParameters;
  bounded[1].most = 2;
  fit(line, bounded, observe(20, 3.5, 1));
  CHECK(line.slope <= 2);
}

TEST_CASE("about a fifth of groups is held out, and their error is what is reported") {
  int held_out = 0;
  for (uint64_t group = 0; group < 1000; ++group) held_out += is_held_out(group);
  CHECK(held_out > 150);
  CHECK(held_out < 250);
  // All that is held out is wrong, and nothing of it is fitted.
  std::vector<Observation<Line>> seen = observe(20, 3.5, 1);
  for (Observation<Line>& each : seen)
    if (is_held_out(each.group)) each.us *= 2;
  Line line;
  const FitError error = fit(line, kParameters, seen);
  CHECK(line.slope == Approx(3.5).epsilon(0.01));
  CHECK(error.mean == Approx(0.5).epsilon(0.02));
}

TEST_CASE("what is no time costs so much that no fit ends there") {
  CHECK(cost_of(0, 5) > 1000);
  CHECK(cost_of(NAN, 5) > 1000);
  CHECK(cost_of(5, 5) == 0);
}
