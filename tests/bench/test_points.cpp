#include "generator/bench/bench.h"
#include "tests/catch.h"

using namespace tilepost;

TEST_CASE("shapes are three positive numbers") {
  Shape shape;
  REQUIRE(parse_shape("4000x8200x2056", shape));
  CHECK((shape.m == 4000 && shape.n == 8200 && shape.k == 2056));
  for (const char* text : {"", "4", "4x5", "4x5x", "x4x5", "4x5x6x7", "0x5x6", "-4x5x6", "4 x5x6",
                           "4x5xk", "99999999999999999999x1x1"})
    CHECK_FALSE(parse_shape(text, shape));
}

TEST_CASE("shapes and sweeps multiply, for every spec") {
  BenchOptions options;
  const std::vector<Input> inputs = {{"a.yaml", "", {}}, {"b.yaml", "", {{"ranks", "2"}}}};
  CHECK(bench_cases(inputs, options).size() == 2);
  options.shapes = {{1, 2, 3}, {4, 5, 6}};
  options.sweeps = {{"gemm.a", {"bf16", "f16"}}};
  const std::vector<Case> cases = bench_cases(inputs, options);
  REQUIRE(cases.size() == 8);
  const std::vector<Override>& last = cases.back().input.overrides;
  REQUIRE(last.size() == 5);
  CHECK(last[0].path == "ranks");
  CHECK((last[1].path == "gemm.m" && last[1].value == "4"));
  CHECK((last[2].path == "gemm.n" && last[2].value == "5"));
  CHECK((last[3].path == "gemm.k" && last[3].value == "6"));
  CHECK((last[4].path == "gemm.a" && last[4].value == "f16"));
}
