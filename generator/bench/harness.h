// The bench harness: its sources and how to compile them.
#pragma once

#include <string>
#include <vector>

#include "generator/harness/build.h"
#include "generator/harness/programs.h"

namespace tilepost {

// An un-woven template with the tunables of a plan. The cost of signals is measured against this
// kernel. Programs whose kernels have the same tunables share one. A kernel of the user's own has
// none: it is launched as its author does (harness/programs.h).
struct PlainSource {
  std::string name;  // "plain_3", for the file and for the function that returns the kernel
  Arch arch;
  std::string text;
};

// Without plain kernels programs can be measured against each other alone (TuneRunner).
struct BenchHarness {
  std::vector<PlainSource> plain;
  std::vector<size_t> plain_of;  // by program: index into `plain`; no meaning for own kernels and
                                 // for experts
};

// The text of a plan's template, un-woven, in which tilepost::tunable returns the planned values.
// It lies in the namespace <name>_kernel and defines tilepost::bench::PlainKernel <name>().
std::string plain_kernel_text(const Plan& plan, const std::string& name);

// The plain kernels of programs that have one plan each.
BenchHarness make_bench_harness(const std::vector<HarnessProgram>& programs);

// Writes all that the compiler will read.
SourcesResult write_bench_sources(const std::vector<HarnessProgram>& programs,
                                  const BenchHarness& harness, const WorkDir& dir,
                                  Progress& progress, Diagnostics& diagnostics);

// The build of the harness, for GPUs of compute capability `sm`. `cublas_lt`: the file of the
// library cuBLASLt.
BuildPlan plan_bench_build(const std::vector<HarnessProgram>& programs, const BenchHarness& harness,
                           const CudaTools& tools, const std::string& cublas_lt, int sm,
                           const WorkDir& dir);

}  // namespace tilepost
