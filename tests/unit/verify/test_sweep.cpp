#include "generator/harness/sweep.h"

#include <set>

#include "tests/catch.h"

using namespace tilepost;

namespace {

const std::vector<Input> kInputs = {{"one.yaml", "text one", {{"ranks", "2"}}},
                                    {"two.yaml", "text two", {}}};

}  // namespace

TEST_CASE("no sweep: one case per spec, as given") {
  const std::vector<Case> cases = expand(kInputs, {});
  REQUIRE(cases.size() == 2);
  CHECK(cases[0].input.path == "one.yaml");
  CHECK(cases[0].input.overrides.size() == 1);
  CHECK(cases[1].input.text == "text two");
  CHECK(cases[1].varied.empty());
}

TEST_CASE("sweeps multiply, the last varies fastest, after the spec's own overrides") {
  const std::vector<Case> cases =
      expand(kInputs, {{"gemm.m", {"1", "7", "64"}}, {"schedule.tile", {"[64,64]", "[128,64]"}}});
  REQUIRE(cases.size() == 12);
  CHECK(cases[0].varied == "gemm.m=1, schedule.tile=[64,64]");
  CHECK(cases[1].varied == "gemm.m=1, schedule.tile=[128,64]");
  CHECK(cases[2].varied == "gemm.m=7, schedule.tile=[64,64]");
  CHECK(cases[2].hidden == "schedule.tile=[64,64]");
  CHECK(cases[6].input.path == "two.yaml");
  const std::vector<Override>& overrides = cases[3].input.overrides;
  REQUIRE(overrides.size() == 3);
  CHECK(overrides[0].path == "ranks");
  CHECK(overrides[1].path == "gemm.m");
  CHECK(overrides[1].value == "7");
  CHECK(overrides[2].value == "[128,64]");
  std::set<std::string> all;
  for (const Case& each : cases) all.insert(each.input.path + each.varied);
  CHECK(all.size() == 12);
}

TEST_CASE("a sweep without values leaves nothing") {
  CHECK(expand(kInputs, {{"gemm.m", {}}}).empty());
}
