// Specs of whole layers of experts: what each half is given, and what is refused.
#include "generator/spec/layer.h"

#include "tests/catch.h"
#include "tests/unit/spec/fixture.h"

namespace {

using namespace tilepost;
using test::Outcome;

Outcome read_layer(const std::string& gemm, const std::string& more = "") {
  return test::read(
      "tilepost: 1\nname: small\npattern: moe\nranks: 2\n"
      "gemm: {m: {max: 128}, n: 96, k: 64, experts: 8, top: 2, " +
      gemm + "}\narch: host\n" + more);
}

std::vector<tilepost_epilogue_op_t> operations(const Spec& spec) {
  std::vector<tilepost_epilogue_op_t> found;
  for (const auto& operation : spec.gemm.epilogue) found.push_back(operation.value);
  return found;
}

// Checks that a layer is refused, with one error.
void check_refused(const std::string& gemm, const std::string& more, const std::string& reason) {
  const Outcome outcome = read_layer(gemm, more);
  CAPTURE(gemm, more, outcome.log);
  CHECK_FALSE(outcome.spec.has_value());
  CHECK(outcome.errors == 1);
  CHECK_THAT(outcome.log, Catch::Contains(reason));
}

}  // namespace

TEST_CASE("the halves of a layer have each other's sizes, and their own operations") {
  const Outcome outcome = read_layer(
      "a: bf16, epilogue: [bias, swiglu, residual], "
      "gate: interleaved");
  INFO(outcome.log);
  REQUIRE(outcome.spec.has_value());
  const std::vector<Spec> halves = operations_of(*outcome.spec);
  REQUIRE(halves.size() == 2);
  const Spec &first = halves[0], &second = halves[1];
  CHECK_FALSE(first.layer.has_value());
  CHECK_FALSE(second.layer.has_value());
  CHECK(first.pattern.value == TILEPOST_DISPATCH_GROUPED_GEMM);
  CHECK(second.pattern.value == TILEPOST_GROUPED_GEMM_COMBINE);
  CHECK((first.gemm.n.value == 96 && first.gemm.k.value == 64));
  CHECK((second.gemm.n.value == 64 && second.gemm.k.value == 96));
  CHECK(operations(first) == std::vector{TILEPOST_BIAS, TILEPOST_SWIGLU});
  CHECK(operations(second) == std::vector{TILEPOST_BIAS, TILEPOST_RESIDUAL});
  CHECK(first.gemm.gate.value == TILEPOST_GATE_INTERLEAVED);
  CHECK(second.gemm.gate.value == TILEPOST_GATE_HALVES);
}

TEST_CASE("a spec of another pattern is one operation") {
  const Outcome outcome = test::read(test::kMinimal);
  REQUIRE(outcome.spec.has_value());
  CHECK_FALSE(outcome.spec->layer.has_value());
  CHECK(operations_of(*outcome.spec).size() == 1);
}

TEST_CASE("what a layer has no place for is refused at its field, once") {
  check_refused("a: e4m3", "", "gemm.a 'e4m3' is not available with pattern 'moe'");
  check_refused("a: bf16, out: f16", "", "gemm.out must be gemm.a with pattern 'moe', bf16");
  for (const std::string scale : {"scale", "scale_rows", "scale_columns"})
    check_refused("a: bf16, epilogue: [" + scale + ", swiglu]", "",
                  "gemm.epilogue: '" + scale + "' is not available with pattern 'moe'");
  check_refused("a: bf16, epilogue: [residual, swiglu]", "", "write [swiglu, residual]");
  check_refused("a: bf16", "transport: nccl_symmetric\n", "does not bring tokens to experts yet");
  check_refused("a: bf16", "neighbours: true\n", "neighbours is not possible");
  check_refused("a: bf16", "max_rows: 257\n", "max_rows must be at most gemm.m * gemm.top, 256");
  check_refused("a: bf16, gate: halves", "", "no operation of gemm.epilogue combines these");
}
