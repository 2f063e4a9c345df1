// The bench harness compiles and links, for a GPU that need not be there.
#include <iterator>

#include "generator/bench/bench.h"
#include "generator/bench/harness.h"
#include "generator/diagnostic_printer.h"
#include "generator/harness/process.h"
#include "tests/catch.h"

using namespace tilepost;

namespace {

constexpr int kHopper = 90;

// Each is another kernel, another way to launch it or another way to compile it.
const char* const kSpecs[] = {
    "name: panel\npattern: gemm_all_reduce\narch: sm_90a\nranks: 2\n"
    "gemm: {m: 4096, n: 4096, k: 1024, a: bf16}\n",
    "name: slots\npattern: gemm\narch: sm_90a\nranks: 1\n"
    "gemm: {m: 1000, n: 4096, k: 1024, a: f16, layout: nn, epilogue: [bias, gelu]}\n"
    "schedule: {layout: tile}\n",
    "name: bytes\npattern: gemm\narch: sm_90a\nranks: 1\n"
    "gemm: {m: 512, n: 512, k: 512, a: e4m3, epilogue: [scale, bias]}\n",
    "name: routed\npattern: gemm_all_to_all\nrouting: rows\narch: sm_90a\nranks: 4\n"
    "gemm: {m: 4096, n: 4096, k: 1024, a: bf16}\n",
    "name: gathered\npattern: all_gather_gemm\narch: sm_90a\nranks: 4\n"
    "gemm: {m: 8192, n: 4096, k: 4096, a: f16}\n",
    "name: arriving\npattern: all_to_all_gemm\nrouting: rows\narch: sm_90a\nranks: 4\n"
    "gemm: {m: 4096, n: 4096, k: 1024, a: bf16}\n",
    "name: older\npattern: gemm\narch: sm_80\nranks: 1\n"
    "gemm: {m: 1000, n: 1001, k: 77, a: bf16}\n",
};

std::vector<Input> inputs() {
  std::vector<Input> result;
  for (const char* spec : kSpecs)
    result.push_back({"spec.yaml", std::string("tilepost: 1\n") + spec, {}});
  return result;
}

}  // namespace

TEST_CASE("the harness compiles and links", "[compile]") {
  std::string missing;
  const std::optional<CudaTools> tools = find_cuda_tools(missing);
  const std::string cublas_lt = tools ? find_toolkit_library(*tools, "libcublasLt.so") : "";
  if (cublas_lt.empty()) {
    WARN("skipped: there is no " << (tools ? "libcublasLt.so" : missing));
    return;
  }
  DiagnosticPrinter diagnostics(llvm::errs());
  Progress progress;
  std::vector<HarnessProgram> programs =
      plan_cases(bench_cases(inputs(), {}), progress, diagnostics);
  REQUIRE(programs.size() == std::size(kSpecs));
  make_names_unique(programs);
  const BenchHarness harness = make_bench_harness(programs);
  CHECK(harness.plain.size() == programs.size());
  WorkDir dir("", diagnostics);
  REQUIRE(dir.ok());
  REQUIRE(write_bench_sources(programs, harness, dir, progress, diagnostics) ==
          SourcesResult::written);
  const BuildPlan plan = plan_bench_build(programs, harness, *tools, cublas_lt, kHopper, dir);
  REQUIRE(build_harness(plan, 0, "", dir, progress, diagnostics) == BuildResult::built);

  // A command line that is wrong needs no GPU to be refused.
  Process process;
  std::string error;
  REQUIRE(process.start({plan.harness, "--mode", "hot"}, 2, 2, error));
  while (!process.ended()) {
  }
  CHECK(process.exit_status() == 2);
}

TEST_CASE("programs whose kernels have the same numbers share a plain one") {
  DiagnosticPrinter diagnostics(llvm::errs());
  Progress progress;
  BenchOptions options;
  options.shapes = {{4096, 4096, 4096}, {8192, 4096, 4096}, {4096, 4096, 4096}};
  const std::vector<HarnessProgram> programs =
      plan_cases(bench_cases({inputs().front()}, options), progress, diagnostics);
  REQUIRE(programs.size() == 3);
  const BenchHarness harness = make_bench_harness(programs);
  REQUIRE(harness.plain_of.size() == 3);
  CHECK(harness.plain_of[0] == harness.plain_of[2]);
  CHECK(harness.plain.size() <= 2);
}
