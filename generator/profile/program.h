// The measuring program: its sources, and how to compile them.
#pragma once

#include "generator/harness/build.h"
#include "generator/profile/fit/variants.h"

namespace tilepost {

// Writes all that the compiler will read.
SourcesResult write_measuring_sources(const GemmCases& cases, const WorkDir& dir,
                                      Diagnostics& diagnostics);

// How to build it, for GPUs of compute capability `sm`. `cublas_lt`: the file of the library
// cuBLASLt, which the bench harness's parts need. All objects can be kept for the next run.
BuildPlan plan_measuring_build(const GemmCases& cases, const CudaTools& tools,
                               const std::string& cublas_lt, int sm, const WorkDir& dir);

}  // namespace tilepost
