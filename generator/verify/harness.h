// The verify harness: its sources and how to compile them.
#pragma once

#include <string>
#include <vector>

#include "generator/harness/build.h"
#include "generator/harness/programs.h"

namespace tilepost {

// The text of the harness's registry.cpp. `audited`: it has the plain kernels of programs that are
// audited.
std::string emit_registry(const std::vector<HarnessProgram>& programs, bool audited);

// The harness's own C++ sources, with those of one of the two targets.
Unit verify_unit(bool cuda);

// The translation units of programs for the host, each with many programs.
inline constexpr size_t kProgramsPerUnit = 40;
std::vector<Unit> program_units(const std::vector<HarnessProgram>& programs);

// The folder, in the working folder, of headers that stand in for CUDA's where a kernel of the
// user's own runs on the CPU.
inline constexpr const char* kShimHeaders = "runtime/verify/host/shim/include";

// Writes all that the compiler will read: resources, programs, registry, units.
SourcesResult write_sources(const std::vector<HarnessProgram>& programs, bool cuda,
                            const WorkDir& dir, Progress& progress, Diagnostics& diagnostics);

// A harness for the host target; the words of `compiler` begin each command.
BuildPlan plan_host_build(const std::vector<HarnessProgram>& programs,
                          const std::vector<std::string>& compiler, const WorkDir& dir);

// A harness for GPUs of compute capability `sm`.
BuildPlan plan_cuda_build(const std::vector<HarnessProgram>& programs, const CudaTools& tools,
                          int sm, const WorkDir& dir);

}  // namespace tilepost
