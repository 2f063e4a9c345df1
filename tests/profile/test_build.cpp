// The measuring program compiles and links, for a GPU that need not be there: all of its own
// sources, and a kernel of each way to launch one.
#include <algorithm>

#include "generator/diagnostic_printer.h"
#include "generator/harness/process.h"
#include "generator/plan/kernels/family.h"
#include "generator/profile/program.h"
#include "tests/catch.h"

using namespace tilepost;

namespace {

// A few variants of all, so that the test does not compile for minutes, and the cases they have.
GemmCases few_cases() {
  GemmCases all = cases_for(Arch::sm_90a, 132, default_machine());
  GemmCases few;
  std::vector<size_t> place(all.variants.size(), SIZE_MAX);
  std::vector<std::string> families;
  const auto keep = [&](size_t variant) {
    if (place[variant] != SIZE_MAX) return;
    place[variant] = few.variants.size();
    few.variants.push_back(all.variants[variant]);
  };
  keep(all.beside.variant);
  for (size_t i = 0; i < all.variants.size(); ++i) {
    const std::string family = all.variants[i].config.family->name();
    if (std::ranges::find(families, family) != families.end()) continue;
    families.push_back(family);
    keep(i);
  }
  const auto take = [&](const std::vector<GemmCase>& from, std::vector<GemmCase>& to) {
    for (GemmCase gemm : from)
      if (place[gemm.variant] != SIZE_MAX) {
        gemm.variant = place[gemm.variant];
        to.push_back(gemm);
      }
  };
  take(all.cool, few.cool);
  take(all.sustained, few.sustained);
  few.beside = all.beside;
  few.beside.variant = place[all.beside.variant];
  return few;
}

}  // namespace

TEST_CASE("the measuring program compiles, links and lists its steps") {
  std::string missing;
  const std::optional<CudaTools> tools = find_cuda_tools(missing);
  const std::string cublas_lt = tools ? find_toolkit_library(*tools, "libcublasLt.so") : "";
  if (cublas_lt.empty()) {
    WARN("skipped: there is no " << (tools ? "libcublasLt.so" : missing));
    return;
  }
  std::string log;
  llvm::raw_string_ostream stream(log);
  DiagnosticPrinter diagnostics(stream);
  const InterruptGuard guard;
  Progress progress;
  WorkDir dir("", diagnostics);
  REQUIRE(dir.ok());
  const GemmCases cases = few_cases();
  REQUIRE(write_measuring_sources(cases, dir, diagnostics) == SourcesResult::written);
  const BuildPlan plan = plan_measuring_build(cases, *tools, cublas_lt, 90, dir);
  const BuildResult built = build_harness(plan, 2, "", dir, progress, diagnostics);
  INFO(log);
  CHECK(built == BuildResult::built);
}
