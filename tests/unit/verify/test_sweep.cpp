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

TEST_CASE("shapes are three positive numbers") {
  Shape shape;
  REQUIRE(parse_shape("4000x8200x2056", shape));
  CHECK((shape.m == 4000 && shape.n == 8200 && shape.k == 2056));
  CHECK(shape_text(shape) == "4000x8200x2056");
  for (const char* text : {"", "4", "4x5", "4x5x", "x4x5", "4x5x6x7", "0x5x6", "-4x5x6", "4 x5x6",
                           "4x5xk", "99999999999999999999x1x1"})
    CHECK_FALSE(parse_shape(text, shape));
}

TEST_CASE("values of a sweep stand between commas, lists in brackets") {
  const auto values = parse_values("1,[2,[3]],{max: 4, min: 5}");
  REQUIRE(values.has_value());
  CHECK(*values == std::vector<std::string>{"1", "[2,[3]]", "{max: 4, min: 5}"});
  for (const char* text : {"", " ", ",", "1,", ",1", "1,,2", "1, ,2", "[1", "1]", "]1[", "[1,2"})
    CHECK_FALSE(parse_values(text).has_value());
}

TEST_CASE("shapes and sweeps multiply, for every spec") {
  const std::vector<Shape> shapes = {{1, 2, 3}, {4, 5, 6}};
  const std::vector<Sweep> sweeps = {{"gemm.a", {"bf16", "f16"}}};
  CHECK(expand(kInputs, {}, {}).size() == 2);
  const std::vector<Case> cases = expand(kInputs, sweeps, shapes);
  REQUIRE(cases.size() == 8);
  CHECK(count_cases(kInputs.size(), sweeps, shapes) == 8);
  const std::vector<Override>& last = cases[3].input.overrides;
  REQUIRE(last.size() == 5);
  CHECK(last[0].path == "ranks");
  CHECK((last[1].path == "gemm.m" && last[1].value == "4"));
  CHECK((last[2].path == "gemm.n" && last[2].value == "5"));
  CHECK((last[3].path == "gemm.k" && last[3].value == "6"));
  CHECK((last[4].path == "gemm.a" && last[4].value == "f16"));
  CHECK(cases[3].varied == "4x5x6, gemm.a=f16");
  CHECK(cases[3].hidden.empty());
  REQUIRE(cases[3].shape.has_value());
  CHECK(cases[3].shape->n == 5);
  CHECK(cases[3].swept == std::vector<std::string>{"f16"});
}

TEST_CASE("the count of cases does not overflow") {
  const Sweep wide{"gemm.m", std::vector<std::string>(1 << 16, "1")};
  CHECK(count_cases(1, {wide, wide, wide}, {}) == size_t{1} << 48);
  CHECK(count_cases(1, {wide, wide, wide, wide}, {}) == SIZE_MAX);
}

TEST_CASE("suffixes are ends of names, and say what cases differ in") {
  const auto suffix = [](const std::vector<Sweep>& sweeps, const std::vector<Shape>& shapes = {}) {
    return expand({kInputs[1]}, sweeps, shapes).back().suffix;
  };
  CHECK(suffix({}).empty());
  CHECK(suffix({}, {{1, 2, 3}}) == "_1x2x3");
  CHECK(suffix({{"gemm.m", {"{max: 64}"}}, {"ranks", {"2"}}}) == "_m_max_64_ranks_2");
  CHECK(suffix({{"schedule.tile", {"[64,128]"}}}) == "_tile_64_128");
  CHECK(suffix({{"gemm.m.max", {"7"}}}) == "_max_7");
  CHECK(suffix({{"name", {"a", "b"}}}).empty());
  CHECK(suffix({{"consumer", {"../x_"}}}) == "_consumer_x");
}

TEST_CASE("a sweep without values leaves nothing") {
  CHECK(expand(kInputs, {{"gemm.m", {}}}).empty());
}
