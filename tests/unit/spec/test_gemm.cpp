// The gemm section: types, layouts, accumulation, epilogues, and their rules.
#include "tests/catch.h"
#include "tests/unit/spec/fixture.h"

namespace {

using namespace tilepost;
using test::Outcome;

// A spec with `pattern` and `fields` in its gemm section.
Outcome read_gemm(const std::string& fields, const std::string& pattern = "gemm",
                  const std::string& more = "") {
  return test::read("tilepost: 1\nname: small\npattern: " + pattern +
                    "\nranks: 4\ngemm: {m: 129, n: 64, k: 7" + fields + "}\narch: host\n" + more);
}

std::vector<tilepost_epilogue_op_t> epilogue_of(const Outcome& outcome) {
  INFO(outcome.log);
  REQUIRE(outcome.spec.has_value());
  std::vector<tilepost_epilogue_op_t> operations;
  for (const auto& operation : outcome.spec->gemm.epilogue) operations.push_back(operation.value);
  return operations;
}

std::string error_of(const Outcome& outcome) {
  INFO(outcome.log);
  CHECK(outcome.errors == 1);
  CHECK_FALSE(outcome.spec.has_value());
  return llvm::StringRef(outcome.log).split('\n').first.str();
}

void check_error(const Outcome& outcome, const std::string& part) {
  CHECK_THAT(error_of(outcome), Catch::Contains(part));
}

}  // namespace

TEST_CASE("e4m3 in gives bf16 out unless f16 is asked for") {
  const Outcome plain = read_gemm(", a: e4m3");
  INFO(plain.log);
  REQUIRE(plain.spec.has_value());
  CHECK(plain.spec->gemm.b.value == TILEPOST_E4M3);
  CHECK(plain.spec->gemm.out.value == TILEPOST_BF16);
  CHECK(plain.spec->gemm.accumulate.value == TILEPOST_PRECISE);
  const Outcome half = read_gemm(", a: e4m3, b: e4m3, out: f16, accumulate: fast");
  REQUIRE(half.spec.has_value());
  CHECK(half.spec->gemm.out.value == TILEPOST_F16);
  CHECK(half.spec->gemm.accumulate.value == TILEPOST_FAST);
}

TEST_CASE("what e4m3 cannot have is refused with the reason") {
  check_error(read_gemm(", a: e4m3, b: bf16"), "gemm.b must equal gemm.a, 'e4m3'; got 'bf16'");
  check_error(read_gemm(", a: e4m3, layout: nn"), "gemm.layout 'nn' is not possible with e4m3");
  check_error(read_gemm(", a: f16, accumulate: fast"),
              "gemm.accumulate 'fast' is for e4m3; sums of f16 are always kept in fp32");
  CHECK(read_gemm(", a: f16, accumulate: precise").spec.has_value());
}

TEST_CASE("both layouts of B are read") {
  CHECK(read_gemm(", a: bf16, layout: nn").spec->gemm.layout.value == TILEPOST_NN);
  CHECK(read_gemm(", a: bf16").spec->gemm.layout.value == TILEPOST_TN);
}

TEST_CASE("an epilogue is read in its order") {
  CHECK(epilogue_of(read_gemm(", a: bf16, epilogue: []")).empty());
  CHECK(epilogue_of(read_gemm(", a: bf16, epilogue: [scale, bias, gelu, residual]")) ==
        std::vector{TILEPOST_SCALE, TILEPOST_BIAS, TILEPOST_GELU, TILEPOST_RESIDUAL});
  CHECK(epilogue_of(read_gemm(", a: e4m3, epilogue: [scale_rows, scale_columns, silu]")) ==
        std::vector{TILEPOST_SCALE_ROWS, TILEPOST_SCALE_COLUMNS, TILEPOST_SILU});
  CHECK(epilogue_of(read_gemm(", a: bf16, epilogue: [scale_columns, bias]", "gemm_all_reduce")) ==
        std::vector{TILEPOST_SCALE_COLUMNS, TILEPOST_BIAS});
}

TEST_CASE("every order of two operations but the kernels' is refused, naming the right one") {
  const std::vector<std::string> order = {"scale_rows", "scale_columns", "bias", "gelu",
                                          "residual"};
  for (size_t i = 0; i < order.size(); ++i)
    for (size_t j = 0; j < order.size(); ++j) {
      if (i == j) continue;
      const Outcome outcome =
          read_gemm(", a: bf16, epilogue: [" + order[i] + ", " + order[j] + "]");
      if (i < j)
        CHECK(outcome.spec.has_value());
      else
        check_error(outcome, "gemm.epilogue: '" + order[j] + "' comes before '" + order[i] +
                                 "' in the kernels; write [" + order[j] + ", " + order[i] + "]");
    }
}

TEST_CASE("operations that exclude each other, repeat or are unknown are refused") {
  check_error(read_gemm(", a: bf16, epilogue: [scale, scale_rows]"),
              "gemm.epilogue has both 'scale' and 'scale_rows', of which there can be one");
  check_error(read_gemm(", a: bf16, epilogue: [scale, scale_columns]"), "can be one");
  check_error(read_gemm(", a: bf16, epilogue: [silu, gelu]"), "both 'silu' and 'gelu'");
  check_error(read_gemm(", a: bf16, epilogue: [bias, bias]"), "gemm.epilogue lists 'bias' twice");
  check_error(read_gemm(", a: bf16, epilogue: [baas]"), "did you mean 'bias'?");
  check_error(read_gemm(", a: bf16, epilogue: [scale: 2]"), "got a mapping");
  check_error(read_gemm(", a: bf16, epilogue: gelu"),
              "gemm.epilogue must be a list of some of scale, ");
}

TEST_CASE("what may not come before a sum over ranks is refused for its mathematics") {
  for (const std::string name : {"gelu", "silu"})
    check_error(read_gemm(", a: bf16, epilogue: [" + name + "]", "gemm_all_reduce"),
                name + "(x) + " + name + "(y) != " + name + "(x + y)");
  check_error(read_gemm(", a: bf16, epilogue: [residual]", "gemm_all_reduce"),
              "'residual' before a sum over ranks is added on every rank, 4 times in all");
}

TEST_CASE("a pattern without communication refuses what arranges it") {
  check_error(read_gemm(", a: bf16", "gemm", "transport: nccl\n"),
              "transport 'nccl' has nothing to send: pattern 'gemm' does not communicate");
  check_error(read_gemm(", a: bf16", "gemm", "schedule: {groups: [1, 2]}\n"),
              "2 groups, but pattern 'gemm' sends nothing");
  CHECK(read_gemm(", a: bf16", "gemm", "transport: none\n").spec.has_value());
  CHECK(read_gemm(", a: bf16", "gemm", "schedule: {comm_sms: 8}\n").spec.has_value());
}

TEST_CASE("blocks of e4m3 may have scales, those of A in two orders") {
  const Outcome none = read_gemm(", a: e4m3");
  REQUIRE(none.spec.has_value());
  CHECK(none.spec->gemm.scales.value == TILEPOST_SCALES_NONE);
  const Outcome rows = read_gemm(", a: e4m3, scales: blocks, epilogue: [bias]");
  INFO(rows.log);
  REQUIRE(rows.spec.has_value());
  CHECK(rows.spec->gemm.scales.value == TILEPOST_SCALES_BLOCKS);
  CHECK(rows.spec->gemm.scales_a.value == TILEPOST_SCALES_ROWS);
  const Outcome columns = read_gemm(", a: e4m3, scales: blocks, scales_a: columns");
  REQUIRE(columns.spec.has_value());
  CHECK(columns.spec->gemm.scales_a.value == TILEPOST_SCALES_COLUMNS);
}

TEST_CASE("scales of blocks are refused with what they do not go with") {
  check_error(read_gemm(", a: f16, scales: blocks"),
              "gemm.scales 'blocks' is for e4m3, got gemm.a 'f16'");
  check_error(read_gemm(", a: e4m3, scales: blocks, accumulate: fast"),
              "gemm.accumulate 'fast' is not possible with scales of blocks");
  check_error(read_gemm(", a: e4m3, scales: blocks, epilogue: [scale, bias]"),
              "gemm.epilogue: 'scale' is not possible with scales of blocks");
  CHECK(read_gemm(", a: e4m3, scales: blocks", "all_gather_gemm").spec.has_value());
  check_error(read_gemm(", a: e4m3, scales: blocks, scales_a: columns", "all_gather_gemm"),
              "gemm.scales_a 'columns' is not possible with pattern 'all_gather_gemm'");
  check_error(read_gemm(", a: e4m3, scales_a: columns"),
              "gemm.scales_a 'columns' says how scales of blocks lie, and there are none");
}

TEST_CASE("an output of 8 bits has scales of blocks, in two orders") {
  const Outcome rows = read_gemm(", a: bf16, out: e4m3, epilogue: [bias, gelu]");
  INFO(rows.log);
  REQUIRE(rows.spec.has_value());
  CHECK(rows.spec->gemm.out.value == TILEPOST_E4M3);
  CHECK(rows.spec->gemm.scales_out.value == TILEPOST_SCALES_ROWS);
  const Outcome columns =
      read_gemm(", a: e4m3, scales: blocks, out: e4m3, scales_out: columns", "gemm_reduce_scatter");
  INFO(columns.log);
  REQUIRE(columns.spec.has_value());
  CHECK(columns.spec->gemm.scales_out.value == TILEPOST_SCALES_COLUMNS);
}

TEST_CASE("an output of 8 bits is refused with what it does not go with") {
  check_error(read_gemm(", a: bf16, scales_out: columns"),
              "gemm.scales_out 'columns' says how scales of an output of 8 bits lie, and gemm.out "
              "is 'bf16'");
  CHECK(read_gemm(", a: bf16, out: e4m3", "gemm_all_to_all").spec.has_value());
  check_error(read_gemm(", a: bf16, out: e4m3", "all_gather_gemm", "transport: peer_tiles\n"),
              "transport 'peer_tiles' is not possible with gemm.out 'e4m3'");
  check_error(read_gemm(", a: bf16, out: e4m3", "gemm", "schedule: {layout: tile}\n"),
              "schedule.layout 'tile' is not possible with gemm.out 'e4m3' and pattern 'gemm'");
  check_error(read_gemm(", a: bf16, out: e4m3", "gemm", "schedule: {tile: [128, 192]}\n"),
              "tile '128x192' is not possible with gemm.out 'e4m3'");
  CHECK(read_gemm(", a: bf16, out: e4m3", "gemm_all_reduce", "schedule: {tile: [128, 192]}\n")
            .spec.has_value());
}
