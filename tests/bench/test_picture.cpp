// The picture of `tilepost bench --svg`: a function of the records.
#include <fmt/format.h>

#include "llvm/ADT/StringRef.h"
#include "tests/bench/sample.h"

using namespace bench_test;
using Catch::Contains;

namespace {

BenchContext context() {
  return {"2026-11-21T15:00:00Z", "0123456789ab", {}};
}

size_t count(const std::string& text, llvm::StringRef part) {
  return llvm::StringRef(text).count(part);
}

// A program with so many rows, measured in a mode: three rounds of ours and of the reference.
HarnessProgram measured(BenchLog& log, const std::string& name, int64_t rows, const char* mode,
                        std::vector<double> ours, std::vector<double> sequence) {
  HarnessProgram program = make_program(name);
  program.spec_name = "few.yaml";
  program.plans.front().map.m = rows;
  std::string ignored;
  for (const char* record : {"begin", "end"})
    log.take(fmt::format(R"({{"record": "{}", "program": "{}"}})", record, name), ignored);
  ModeSamples samples;
  samples.mode = mode;
  samples.us = {{"ours", std::move(ours)}, {"sequence", std::move(sequence)}};
  log.add_mode(name, samples);
  return program;
}

}  // namespace

TEST_CASE("the picture has the ratios of the table, their quartiles and the limit") {
  const std::string svg = bench_picture(context(), {make_program("ends")}, read_log());
  CHECK(llvm::StringRef(svg).starts_with("<svg "));
  CHECK(llvm::StringRef(svg).ends_with("</svg>\n"));
  CHECK_THAT(svg, Contains("The whole operation, one run at a time"));
  CHECK_THAT(svg, Contains(">1.25x<"));
  // The links would take 274 us, which is more than the sequence takes in this record.
  CHECK_THAT(svg, Contains("1.250 times as fast, quartiles 1.250 to 1.250; 80.0 us, the other "
                           "100.0 us; limit 0.365"));
  CHECK_THAT(svg, Contains("4096x8192x2048"));
  CHECK_THAT(svg, Contains("NVIDIA H200"));
  CHECK_THAT(svg, Contains("revision 0123456789ab"));
  CHECK_THAT(svg, Contains(">limit<"));
  CHECK(count(svg, "Not measured") == 0);
}

TEST_CASE("each mode that was measured has a chart, and the GEMM alone no limit") {
  const std::string svg = bench_picture(context(), {make_program("fine")}, read_log());
  CHECK_THAT(svg, Contains("on a cool chip"));
  CHECK_THAT(svg, Contains("at the power cap"));
  CHECK(count(svg, "The whole operation, one run") == 0);
  CHECK(count(svg, ">1.02x<") == 2);
  CHECK(count(svg, ">limit<") == 0);
}

TEST_CASE("a wrong result has no bar, and its reason stands in the picture") {
  const std::vector<HarnessProgram> programs = {make_program("wrong"), make_program("broken")};
  const std::string svg = bench_picture(context(), programs, read_log());
  CHECK_THAT(svg, Contains("Not measured"));
  CHECK_THAT(svg, Contains("17 of 16384 elements"));
  CHECK_THAT(svg, Contains("out of &quot;memory&quot;"));
  CHECK(count(svg, "times as fast, quartiles") == 0);
}

TEST_CASE("few rows have their times by rows, in order, and many rows have not") {
  BenchLog log;
  std::vector<HarnessProgram> programs = {
      measured(log, "big", 8192, "overlap", {500, 500, 500}, {700, 700, 700}),
      measured(log, "two", 64, "overlap", {20, 20, 20}, {40, 40, 40}),
      measured(log, "one", 1, "overlap", {10, 10, 10}, {30, 30, 30})};
  const std::string svg = bench_picture(context(), programs, log);
  CHECK_THAT(svg, Contains("Times by rows"));
  const size_t one = svg.find("tilepost, 1 rows: 10.0 us");
  const size_t two = svg.find("tilepost, 64 rows: 20.0 us");
  CHECK((one != std::string::npos && two != std::string::npos && one < two));
  CHECK_THAT(svg, Contains("reference, 64 rows: 40.0 us"));
  CHECK(count(svg, "8192 rows:") == 0);
  programs.pop_back();
  CHECK(count(bench_picture(context(), programs, log), "Times by rows") == 0);
}

TEST_CASE("names are escaped, and long ones are cut beside their bar") {
  BenchLog log;
  HarnessProgram program = measured(log, "n", 64, "steady", {20, 20, 20}, {40, 40, 40});
  program.varied = "schedule.tile=<&\"\x1b>" + std::string(300, 'v');
  const std::string svg = bench_picture(context(), {program}, log);
  CHECK_THAT(svg, Contains("schedule.tile=&lt;&amp;&quot;\\x1b&gt;"));
  CHECK(count(svg, "\x1b") == 0);
  CHECK_THAT(svg, Contains("...</text>"));
}

TEST_CASE("a picture stays readable with very many points, and there is one of none") {
  BenchLog log;
  std::vector<HarnessProgram> programs;
  for (int i = 0; i < 300; ++i)
    programs.push_back(measured(log, fmt::format("p{}", i), 4096, "overlap", {1}, {2}));
  const std::string svg = bench_picture(context(), programs, log);
  CHECK(count(svg, "times as fast, quartiles") == 200);
  CHECK_THAT(svg, Contains("The first 200 of 300 points are shown"));
  CHECK(llvm::StringRef(bench_picture({}, {}, {})).ends_with("</svg>\n"));
}
