// The course of `tilepost tune`, with a runner that makes up the harness's records.
#include <fmt/format.h>

#include <map>

#include "generator/diagnostic_printer.h"
#include "generator/plan/make_plan.h"
#include "generator/plan/tuning/match.h"
#include "generator/plan/tuning/text.h"
#include "generator/tune/results.h"
#include "generator/tune/tune_cases.h"
#include "generator/yaml/read_tuning.h"
#include "tests/catch.h"

namespace {

using namespace tilepost;

constexpr const char* kSpec =
    "tilepost: 1\nname: attn_out\npattern: gemm_all_reduce\nranks: 2\narch: [sm_80, sm_90a]\n"
    "gemm: {m: 4096, n: 4096, k: 2048, a: bf16}\n";
const std::string kGpu = "NVIDIA H200";

Gpus two_gpus() {
  return {2, 90, "", kGpu};
}

// Says of each program what the test wants. Every plan takes 100 us, later ones a little more.
class FakeRunner final : public TuneRunner {
 public:
  std::string fastest = "plan_3";             // 10 % faster than the others
  std::map<std::string, int> wrong;           // elements, by program
  std::map<std::string, std::string> broken;  // why it cannot be made, by program
  std::string failure;                        // why nothing could be measured
  size_t fails_at = SIZE_MAX;                 // the run that fails
  std::vector<size_t> programs;               // of each run
  std::vector<std::string> names;             // of the last run's
  std::vector<bool> registered;

  Result run(const std::vector<HarnessProgram>& all, const TuneRun& run, BenchLog& log, Progress&,
             Diagnostics& diagnostics) override {
    programs.push_back(all.size());
    registered.push_back(run.registered);
    CHECK(run.seconds > 0);
    if (programs.size() == fails_at) {
      diagnostics.error("the compiler failed");
      return Result::failed;
    }
    std::string ignored;
    const auto take = [&](const std::string& line) { log.take(line, ignored); };
    take(R"({"record": "machine", "gpu": "NVIDIA H200", "gpus": 2, "driver": "570.1",
             "cuda": "13.0", "nccl": "2.28.3"})");
    if (!failure.empty())
      take(fmt::format(R"({{"record": "failed", "program": "", "text": "{}"}})", failure));
    names.clear();
    for (size_t i = 0; i < all.size() && failure.empty(); ++i) measure(all[i].name, i, take);
    return Result::ran;
  }

 private:
  template <class Take>
  void measure(const std::string& name, size_t index, const Take& take) {
    names.push_back(name);
    if (broken.count(name) > 0)
      return take(fmt::format(R"({{"record": "failed", "program": "{}", "text": "{}"}})", name,
                              broken[name]));
    take(fmt::format(R"({{"record": "check", "program": "{}", "variant": "tune", "against": "x",
                          "elements": 100, "wrong": {}}})",
                     name, wrong[name]));
    if (wrong[name] > 0) return;
    // The last plan leaves early, after two lucky rounds.
    const bool early = index == 4;
    for (int round = 0; round < (early ? 2 : 9); ++round) {
      const double base = early ? 50 : name == fastest ? 90 : 100 + static_cast<double>(index);
      take(fmt::format(R"({{"record": "sample", "program": "{}", "mode": "tune", "round": {},
                            "us": {{"ours": {}}}}})",
                       name, round, base + round % 3));
    }
    take(fmt::format(R"({{"record": "end", "program": "{}"}})", name));
  }
};

struct Bench {
  FakeRunner runner;
  TuneOptions options;
  TuningFile file{"layers.tuning.yaml", {}};
  std::string out, messages;
  std::vector<std::string> written;
  size_t refuses_at = SIZE_MAX;  // the write that fails

  std::vector<Case> cases(const std::vector<Override>& overrides = {}) const {
    Input input{"specs/attn_out.yaml", kSpec, overrides};
    return expand({input}, {}, options.shapes);
  }

  int tune(const std::vector<Override>& overrides = {}, const Gpus& gpus = two_gpus()) {
    out.clear(), messages.clear();
    llvm::raw_string_ostream printed(out), said(messages);
    DiagnosticPrinter diagnostics(said);
    const std::vector<TuneCase> read = read_cases(cases(overrides), gpus, diagnostics);
    if (read.empty()) return 1;
    const TuningStore store{[] { return true; },
                            [&] {
                              if (written.size() + 1 == refuses_at) return false;
                              written.push_back(write_tuning(file.entries));
                              return true;
                            }};
    return tune_cases(read, options, gpus.name, runner, file, store, printed, diagnostics);
  }
};

TEST_CASE(
    "the fastest of those that were measured to the end is kept, with all that was measured") {
  Bench bench;
  REQUIRE(bench.tune() == 0);
  REQUIRE(bench.file.entries.size() == 1);
  const TuningEntry& entry = bench.file.entries.front();
  CHECK(bench.runner.programs == std::vector<size_t>{10});
  CHECK(bench.runner.names.front() == "plan_1");
  CHECK(entry.measured.size() == 10);
  CHECK(entry.measured.front().us == 91);
  CHECK(entry.measured.front().low < entry.measured.front().high);
  CHECK(entry.measured.back().us == 50.5);  // it left early
  CHECK(entry.measured.front().what == pick_text(entry.choice));
  CHECK(entry.key.arch == Arch::sm_90a);
  CHECK(entry.machine == TunedMachine{default_machine().name, kGpu, 2, "570.1", "13.0", "2.28.3"});
  CHECK(entry.is_of_this_version());
  CHECK_THAT(bench.out, Catch::Contains("attn_out at 4096x4096x2048: 10 plans measured on 2 x") &&
                            Catch::Contains("the fastest is 1.110x as fast as the planner's"));
  REQUIRE(bench.written.size() == 1);

  // What was written is what a spec is then planned with.
  llvm::raw_string_ostream said(bench.messages);
  DiagnosticPrinter diagnostics(said);
  auto entries = read_tuning_text("layers.tuning.yaml", bench.written.front(), diagnostics);
  REQUIRE(entries.has_value());
  Input input = bench.cases().front().input;
  input.overrides = {{"arch", "sm_90a"}};
  input.tuning = std::make_shared<TuningFile>(TuningFile{"d/layers.tuning.yaml", *entries});
  const std::vector<Plan> plans = plan_input(input, diagnostics);
  REQUIRE(plans.size() == 1);
  CHECK(pick_of(plans.front()) == entry.choice);
  CHECK(plans.front().tuned.file == "layers.tuning.yaml");
  CHECK(diagnostics.ok());
  CHECK(files_read(input, plans)[1] == "d/layers.tuning.yaml");
}

TEST_CASE("patterns with experts are refused") {
  Bench bench;
  CHECK(bench.tune({{"pattern", "grouped_gemm"}, {"ranks", "1"}, {"gemm.experts", "8"}}) == 1);
  CHECK_THAT(bench.messages,
             Catch::Contains("its pattern is grouped_gemm, which tune has no runs of"));
}

TEST_CASE("what the file has is not measured again, unless asked for") {
  Bench bench;
  bench.options.shapes = {{4096, 4096, 2048}, {64, 4096, 2048}, {4096, 4096, 2048}};
  REQUIRE(bench.tune() == 0);
  CHECK(bench.runner.programs.size() == 2);  // the third shape is the first one
  CHECK(bench.file.entries.size() == 2);
  CHECK(bench.written.size() == 2);
  REQUIRE(bench.tune() == 0);
  CHECK(bench.runner.programs.size() == 2);
  CHECK_THAT(bench.out, Catch::Contains("'layers.tuning.yaml' has it"));
  bench.options.again = true;
  bench.options.shapes.pop_back();
  bench.runner.fastest = "plan_2";
  REQUIRE(bench.tune() == 0);
  CHECK(bench.runner.programs.size() == 4);
  CHECK(bench.file.entries.size() == 2);
  CHECK(bench.file.entries.front().key.m == 4096);
  // An entry of another version or GPU is stale.
  bench.options.again = false;
  bench.file.entries[0].version = "0.0.1";
  bench.file.entries[1].machine.gpu = "NVIDIA H200 NVL";
  REQUIRE(bench.tune() == 0);
  CHECK(bench.runner.programs.size() == 6);
  CHECK(bench.file.entries.size() == 3);
  CHECK(bench.file.entries[0].is_of_this_version());
}

TEST_CASE("work that ended in the middle is taken up again") {
  Bench bench;
  bench.options.shapes = {{4096, 4096, 2048}, {64, 4096, 2048}, {8192, 4096, 2048}};
  bench.runner.fails_at = 2;
  CHECK(bench.tune() == 1);
  CHECK(bench.file.entries.size() == 2);
  CHECK_THAT(bench.messages, Catch::Contains("no plan of attn_out at 64x4096x2048 was measured"));
  CHECK(bench.tune() == 0);
  CHECK(bench.runner.programs.size() == 4);
  CHECK(bench.file.entries.size() == 3);
}

TEST_CASE("a file that cannot be written ends the work") {
  Bench bench;
  bench.options.shapes = {{4096, 4096, 2048}, {64, 4096, 2048}};
  bench.refuses_at = 1;
  CHECK(bench.tune() == 3);
  CHECK(bench.runner.programs.size() == 1);
}

TEST_CASE("a plan with wrong results cannot win, and is an error") {
  Bench bench;
  bench.runner.wrong["plan_3"] = 17;
  CHECK(bench.tune() == 1);
  CHECK_THAT(bench.messages, Catch::Contains("error: a plan computes 17 wrong elements"));
  REQUIRE(bench.file.entries.size() == 1);
  CHECK(bench.file.entries.front().measured.size() == 9);
  CHECK(bench.file.entries.front().measured.front().us == 101);  // the planner's choice
}

TEST_CASE("a plan that cannot be made is left out, and a note says why") {
  Bench bench;
  bench.runner.broken["plan_3"] = "out of memory";
  CHECK(bench.tune() == 0);
  CHECK_THAT(bench.messages,
             Catch::Contains("note: a plan is left out") && Catch::Contains("out of memory"));
  bench = {};
  bench.runner.failure = "no peer access";
  CHECK(bench.tune() == 1);
  CHECK_THAT(bench.messages, Catch::Contains("was measured: no peer access"));
  CHECK(bench.file.entries.empty());
  CHECK(bench.written.empty());
}

TEST_CASE("what this machine cannot measure is refused before anything is measured") {
  Bench bench;
  const auto refused = [&](const std::vector<Override>& overrides, const Gpus& gpus,
                           const std::string& text) {
    CHECK(bench.tune(overrides, gpus) == 1);
    CHECK_THAT(bench.messages, Catch::Contains(text));
    CHECK(bench.runner.programs.empty());
    CHECK(bench.written.empty());
  };
  refused({{"arch", "host"}}, two_gpus(), "it is planned for host, and GPUs are measured");
  refused({{"ranks", "4"}}, two_gpus(), "it has 4 ranks, and this machine has 2 GPUs");
  refused({}, {1, 90, "", kGpu}, "it has 2 ranks, and this machine has 1 GPU");
  refused({{"arch", "sm_90a"}}, {2, 80, "", "NVIDIA A100"}, "this machine's GPUs are sm_80");
  refused({}, {2, 90, "", "NVIDIA H100 80GB HBM3"}, "name its profile with --machine");
  refused({{"gemm.k", "0"}}, two_gpus(), "gemm.k");
}

TEST_CASE("outputs are registered where the spec says so, and few plans are measured if asked") {
  Bench bench;
  bench.options.candidates = 4;
  REQUIRE(bench.tune({{"registered", "true"}}) == 0);
  CHECK(bench.runner.registered == std::vector<bool>{true});
  CHECK(bench.runner.programs == std::vector<size_t>{4});
}

}  // namespace
