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

// Those of this build; none where it has no CUDA target.
const std::vector<std::string> kRuntimeLibraries = {TILEPOST_RUNTIME_LIBRARIES};

const char* const kPanel =
    "name: panel\npattern: gemm_all_reduce\narch: sm_90a\nranks: 2\n"
    "gemm: {m: 4096, n: 4096, k: 1024, a: bf16}\n";

// Each is another kernel, another way to launch it or another way to compile it.
const char* const kSpecs[] = {
    "name: slots\npattern: gemm\narch: sm_90a\nranks: 1\n"
    "gemm: {m: 1000, n: 4096, k: 1024, a: f16, layout: nn, epilogue: [bias, gelu]}\n"
    "schedule: {layout: tile}\n",
    "name: older\npattern: gemm\narch: sm_80\nranks: 1\n"
    "gemm: {m: 1000, n: 1001, k: 77, a: bf16}\n",
    "name: own\npattern: gemm_all_reduce\narch: sm_90a\nranks: 4\n"
    "gemm: {m: 4096, n: 4096, k: 1024, a: bf16}\n"
    "kernel: {file: tiled.cu, function: 'lib::tiled<16>', tile: [16, 16], threads: [16, 16],\n"
    "  grid: ['ceil_div(n, 16)', 'ceil_div(m, 16)'], arguments: {a: a, b: b, c: out, m: m, n: n, "
    "k: k}}\n",
    "name: arriving\npattern: all_to_all_gemm\nrouting: rows\narch: sm_90a\nranks: 4\n"
    "gemm: {m: 4096, n: 4096, k: 1024, a: bf16}\n",
    kPanel,
    "name: bytes\npattern: gemm\narch: sm_90a\nranks: 1\n"
    "gemm: {m: 512, n: 512, k: 512, a: e4m3, epilogue: [scale, bias]}\n",
    "name: routed\npattern: gemm_all_to_all\nrouting: rows\narch: sm_90a\nranks: 4\n"
    "gemm: {m: 4096, n: 4096, k: 1024, a: bf16}\n",
    "name: gathered\npattern: all_gather_gemm\narch: sm_90a\nranks: 4\n"
    "gemm: {m: 8192, n: 4096, k: 4096, a: f16}\n",
};
// The first ones, which differ most: nvcc takes too long for every change to compile all.
constexpr size_t kSampledSpecs = 3;

Input input_of(const char* spec) {
  return {TILEPOST_OWN_KERNELS "/spec.yaml", std::string("tilepost: 1\n") + spec, {}};
}

std::vector<Input> first_inputs(size_t count) {
  std::vector<Input> result;
  for (size_t i = 0; i < count; ++i) result.push_back(input_of(kSpecs[i]));
  return result;
}

struct Tools {
  CudaTools cuda;
  std::string cublas_lt;
};

std::optional<Tools> find_tools() {
  std::string missing;
  const std::optional<CudaTools> tools = find_cuda_tools(missing);
  const std::string cublas_lt = tools ? find_toolkit_library(*tools, "libcublasLt.so") : "";
  if (cublas_lt.empty()) {
    WARN("skipped: there is no " << (tools ? "libcublasLt.so" : missing));
    return std::nullopt;
  }
  return Tools{*tools, cublas_lt};
}

bool is_runtime(const Command& command) {
  for (const std::string& source : runtime_sources(/*cuda=*/true))
    if (llvm::StringRef(command.object).ends_with("/" + object_name(source))) return true;
  return false;
}

// Takes the runtime's objects out of the plan and links the libraries of this build in their place.
void use_built_runtime(const Tools& tools, BuildPlan& plan) {
  REQUIRE(static_cast<size_t>(llvm::count_if(plan.common, is_runtime)) ==
          runtime_sources(/*cuda=*/true).size());
  std::vector<std::string>& link = plan.link.argv;
  for (const Command& command : plan.common)
    if (is_runtime(command)) llvm::erase(link, command.object);
  llvm::erase_if(plan.common, is_runtime);
  link.insert(llvm::find(link, tools.cublas_lt), kRuntimeLibraries.begin(),
              kRuntimeLibraries.end());
}

// Builds the harness of the first `specs` specs.
void build(const Tools& tools, size_t specs, bool built_runtime) {
  DiagnosticPrinter diagnostics(llvm::errs());
  Progress progress;
  std::vector<HarnessProgram> programs =
      plan_cases(expand(first_inputs(specs), {}), progress, diagnostics);
  REQUIRE(programs.size() == specs);
  make_names_unique(programs);
  const BenchHarness harness = make_bench_harness(programs);
  CHECK(harness.plain.size() == programs.size() - 1);  // of the own kernel there is another
  WorkDir dir("", diagnostics);
  REQUIRE(dir.ok());
  REQUIRE(write_bench_sources(programs, harness, dir, progress, diagnostics) ==
          SourcesResult::written);
  BuildPlan plan = plan_bench_build(programs, harness, tools.cuda, tools.cublas_lt, kHopper, dir);
  if (built_runtime && !kRuntimeLibraries.empty()) use_built_runtime(tools, plan);
  REQUIRE(build_harness(plan, 0, "", dir, progress, diagnostics) == BuildResult::built);

  // A command line that is wrong needs no GPU to be refused.
  Process process;
  std::string error;
  REQUIRE(process.start({plan.harness, "--mode", "hot"}, 2, 2, error));
  while (!process.ended()) {
  }
  CHECK(process.exit_status() == 2);
}

}  // namespace

// The harness links with the runtime that is built. To compile the runtime once more takes three
// quarters of the time.
TEST_CASE("the harness compiles and links with the runtime that is built", "[compile]") {
  if (const std::optional<Tools> tools = find_tools())
    build(*tools, kSampledSpecs, /*built_runtime=*/true);
}

TEST_CASE("the harness compiles and links", "[.whole]") {
  if (const std::optional<Tools> tools = find_tools())
    build(*tools, std::size(kSpecs), /*built_runtime=*/false);
}

// Warps that look at panels hand them on, and un-woven they do nothing: the second tile of a CTA
// would wait for ever.
TEST_CASE("un-woven no warp is lent panels") {
  DiagnosticPrinter diagnostics(llvm::errs());
  Progress progress;
  const Input few{"few.yaml",
                  "{tilepost: 1, name: few, pattern: gemm_all_reduce, ranks: 2, arch: sm_90a, "
                  "transport: peer_tiles, gemm: {m: 4, n: 9072, k: 1032, a: bf16}, "
                  "schedule: {shots: lines}}",
                  {}};
  const std::vector<HarnessProgram> programs = plan_cases(expand({few}, {}), progress, diagnostics);
  REQUIRE(programs.size() == 1);
  REQUIRE(programs.front().plans.front().source.tunables.at("LENDS") == "1");
  const BenchHarness harness = make_bench_harness(programs);
  CHECK(harness.plain.front().text.find("\"LENDS\") return static_cast<T>(0)") !=
        std::string::npos);
}

TEST_CASE("programs whose kernels have the same numbers share a plain one") {
  DiagnosticPrinter diagnostics(llvm::errs());
  Progress progress;
  const std::vector<Shape> shapes = {{4096, 4096, 4096}, {8192, 4096, 4096}, {4096, 4096, 4096}};
  const std::vector<HarnessProgram> programs =
      plan_cases(expand({input_of(kPanel)}, {}, shapes), progress, diagnostics);
  REQUIRE(programs.size() == 3);
  const BenchHarness harness = make_bench_harness(programs);
  REQUIRE(harness.plain_of.size() == 3);
  CHECK(harness.plain_of[0] == harness.plain_of[2]);
  CHECK(harness.plain.size() <= 2);
}
