// What goes with a pattern: routing, layout, epilogue, consumer.
#include "generator/spec/names.h"
#include "tests/catch.h"
#include "tests/unit/spec/fixture.h"

namespace {

using namespace tilepost;
using test::Outcome;

constexpr const char* kPatterns[] = {"gemm", "gemm_all_reduce", "gemm_reduce_scatter",
                                     "gemm_all_to_all", "all_gather_gemm"};

Outcome read_with(const std::string& pattern, const std::string& more,
                  const std::string& gemm = "") {
  return test::read("tilepost: 1\nname: small\npattern: " + pattern +
                    "\nranks: 3\ngemm: {m: 129, n: 64, k: 7, a: bf16" + gemm + "}\narch: host\n" +
                    more);
}

// Whether exactly the patterns of `taking` take it, the others saying `reason`.
void check_taken(const std::string& more, const std::string& gemm,
                 const std::vector<std::string>& taking, const std::string& reason) {
  for (const std::string pattern : kPatterns) {
    const Outcome outcome = read_with(pattern, more, gemm);
    CAPTURE(pattern, more, gemm, outcome.log);
    const bool taken = std::find(taking.begin(), taking.end(), pattern) != taking.end();
    CHECK(outcome.spec.has_value() == taken);
    CHECK(outcome.errors == (taken ? 0 : 1));
    if (!taken) CHECK_THAT(outcome.log, Catch::Contains(reason));
  }
}

}  // namespace

TEST_CASE("every pattern is read") {
  for (const Spelling& pattern : spellings<Pattern>()) {
    const Outcome outcome = read_with(pattern.text.str(), "");
    INFO(outcome.log);
    REQUIRE(outcome.spec.has_value());
    CHECK(static_cast<int>(outcome.spec->pattern.value) == pattern.value);
    CHECK(outcome.spec->routing.value == Routing::even);
    CHECK_FALSE(outcome.spec->routing.given());
  }
}

TEST_CASE("routing is for gemm_all_to_all") {
  for (const Spelling& routing : spellings<Routing>()) {
    const std::string line = "routing: " + routing.text.str() + "\n";
    check_taken(line, "", {"gemm_all_to_all"},
                "routing '" + routing.text.str() + "' is for pattern 'gemm_all_to_all'");
    const Outcome outcome = read_with("gemm_all_to_all", line);
    REQUIRE(outcome.spec.has_value());
    CHECK(static_cast<int>(outcome.spec->routing.value) == routing.value);
  }
  CHECK_THAT(read_with("gemm_all_to_all", "routing: row\n").log,
             Catch::Contains("did you mean 'rows'?"));
}

TEST_CASE("only what is summed over ranks restricts the epilogue") {
  const std::vector<std::string> sums_nothing = {"gemm", "gemm_all_to_all", "all_gather_gemm"};
  check_taken("", ", epilogue: [gelu]", sums_nothing, "gelu(x) + gelu(y) != gelu(x + y)");
  check_taken("", ", epilogue: [silu]", sums_nothing, "silu(x) + silu(y) != silu(x + y)");
  check_taken("", ", epilogue: [residual]", sums_nothing,
              "'residual' before a sum over ranks is added on every rank, 3 times in all");
  check_taken("", ", epilogue: [scale_rows, scale_columns, bias]",
              {std::begin(kPatterns), std::end(kPatterns)}, "");
}

TEST_CASE("the tile layout is for what is sent after the GEMM, or kept") {
  check_taken("schedule: {layout: tile}\n", "",
              {"gemm", "gemm_all_reduce", "gemm_reduce_scatter", "gemm_all_to_all"},
              "schedule.layout 'tile' is not possible with pattern 'all_gather_gemm'");
  check_taken("schedule: {layout: panel}\n", "", {std::begin(kPatterns), std::end(kPatterns)}, "");
}

TEST_CASE("chunks arrive in one lane") {
  check_taken("schedule: {lanes: 2}\n", "",
              {"gemm", "gemm_all_reduce", "gemm_reduce_scatter", "gemm_all_to_all"},
              "schedule.lanes must be 1 with pattern 'all_gather_gemm'; got '2'");
  check_taken("schedule: {lanes: 1}\n", "", {std::begin(kPatterns), std::end(kPatterns)}, "");
}

TEST_CASE("consumers follow the patterns that have something for them to do") {
  for (const std::string norm : {"rms_norm", "residual_rms_norm"})
    for (const std::string layout : {"auto", "panel", "tile"}) {
      if (layout == "tile") continue;  // all_gather_gemm would be refused for that too
      check_taken("consumer: " + norm + "\nschedule: {layout: " + layout + "}\n", "",
                  {"gemm", "gemm_all_reduce", "gemm_reduce_scatter"},
                  "consumer '" + norm + "' is for patterns gemm, gemm_all_reduce and");
    }
  check_taken("consumer: unpermute\n", "",
              {"gemm", "gemm_all_reduce", "gemm_reduce_scatter", "gemm_all_to_all"},
              "the output of pattern 'all_gather_gemm' is row-major already");
  check_taken("consumer: unpermute\nschedule: {layout: panel}\n", "", {}, "row-major already");
  CHECK(read_with("gemm_reduce_scatter", "consumer: rms_norm\nschedule: {layout: tile}\n")
            .spec.has_value());
}

TEST_CASE("groups are for one m") {
  CHECK(read_with("gemm_all_reduce", "schedule: {groups: [1, 2]}\n").spec.has_value());
  const Outcome outcome =
      test::read(test::kMinimal.str() + "schedule: {groups: [1, 2]}\n", {{"gemm.m.max", "64"}});
  CHECK(outcome.errors == 1);
  CHECK_THAT(outcome.log, Catch::Contains("with '{max: 64}' every run chooses the groups"));
}

TEST_CASE("slots of any m are not left to the caller") {
  const std::string tile = "schedule: {layout: tile}\n";
  const auto read = [](const std::string& pattern, const std::string& more) {
    return test::read("tilepost: 1\nname: small\npattern: " + pattern +
                      "\nranks: 3\ngemm: {m: {max: 129}, n: 64, k: 7, a: bf16}\narch: host\n" +
                      more);
  };
  for (const std::string pattern : {"gemm", "gemm_all_reduce"}) {
    const Outcome outcome = read(pattern, tile);
    CHECK(outcome.errors == 1);
    CHECK_THAT(outcome.log, Catch::Contains("schedule.layout 'tile' with '{max: 129}' needs a"));
    CHECK(read(pattern, "").spec.has_value());
    CHECK(read(pattern, "schedule: {layout: panel}\n").spec.has_value());
    for (const std::string consumer : {"unpermute", "rms_norm", "residual_rms_norm"})
      CHECK(read(pattern, tile + "consumer: " + consumer + "\n").spec.has_value());
  }
  for (const std::string pattern : {"gemm_reduce_scatter", "gemm_all_to_all"})
    CHECK(read(pattern, tile).spec.has_value());
}

TEST_CASE("any m and 8-bit inputs go with every pattern") {
  for (const std::string pattern : kPatterns) {
    const Outcome outcome = test::read(
        "tilepost: 1\nname: small\npattern: " + pattern +
        "\nranks: 64\ngemm: {m: {max: 7}, n: 64, k: 7, a: e4m3, epilogue: [scale]}\narch: host\n");
    INFO(outcome.log);
    REQUIRE(outcome.spec.has_value());
    CHECK(outcome.spec->gemm.any_m);
  }
}
