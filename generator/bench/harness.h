// The bench harness: its sources and how to compile them.
#pragma once

#include <string>
#include <vector>

#include "generator/harness/build.h"
#include "generator/harness/programs.h"

namespace tilepost {

// A template as it stands, un-woven, with the numbers of a plan: what a signal's cost is measured
// against. Programs whose kernels have the same numbers share one. A kernel of the user's own is
// launched as its author does (harness/programs.h).
struct PlainSource {
  std::string name;  // "plain_3": of the file and of the function that returns the kernel
  Arch arch;
  std::string text;
};

struct BenchHarness {
  std::vector<PlainSource> plain;
  std::vector<size_t> plain_of;  // per program: index into `plain`, of no meaning for own kernels
};

// The plain kernels of programs that have one plan each.
BenchHarness make_bench_harness(const std::vector<HarnessProgram>& programs);

// Writes all that the compiler will read.
SourcesResult write_bench_sources(const std::vector<HarnessProgram>& programs,
                                  const BenchHarness& harness, const WorkDir& dir,
                                  Progress& progress, Diagnostics& diagnostics);

// `cublas_lt`: the library's file.
BuildPlan plan_bench_build(const std::vector<HarnessProgram>& programs, const BenchHarness& harness,
                           const CudaTools& tools, const std::string& cublas_lt, int sm,
                           const WorkDir& dir);

}  // namespace tilepost
