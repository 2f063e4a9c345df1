// The verify harness: its sources and how to compile them.
#pragma once

#include <string>
#include <vector>

#include "generator/harness/build.h"
#include "generator/harness/programs.h"

namespace tilepost {

// The text of the harness's registry.cpp. `audited`: whether to list the plain kernels of programs
// that are audited.
std::string emit_registry(const std::vector<HarnessProgram>& programs, bool audited);

// The harness's own C++ sources, with those for GPUs (`cuda`) or for the host target.
Unit verify_unit(bool cuda);

// The translation units of programs for the host, each with up to kProgramsPerUnit programs.
inline constexpr size_t kProgramsPerUnit = 40;
std::vector<Unit> program_units(const std::vector<HarnessProgram>& programs);

// A folder in the working folder. Its headers stand in for CUDA's where a kernel of the user's own
// runs on the CPU.
inline constexpr const char* kShimHeaders = "runtime/verify/host/shim/include";

// Writes all that the compiler will read: resources, programs, registry, units.
SourcesResult write_sources(const std::vector<HarnessProgram>& programs, bool cuda,
                            const WorkDir& dir, Progress& progress, Diagnostics& diagnostics);

// The build of a harness for the host target. The words of `compiler` begin each command.
BuildPlan plan_host_build(const std::vector<HarnessProgram>& programs,
                          const std::vector<std::string>& compiler, const WorkDir& dir);

// The build of a harness for GPUs of compute capability `sm`.
BuildPlan plan_cuda_build(const std::vector<HarnessProgram>& programs, const CudaTools& tools,
                          int sm, const WorkDir& dir);

}  // namespace tilepost
