// Writes a harness's sources into the working folder and says how to compile it.
#pragma once

#include <string>
#include <vector>

#include "generator/verify/commands.h"
#include "generator/verify/machine.h"
#include "generator/verify/programs.h"
#include "generator/verify/work_dir.h"

namespace tilepost {

// Compile commands, independent of each other, then the link command.
struct BuildPlan {
  std::vector<Command> compile;
  Command link;
  std::string harness;  // the program they make
};

// A harness for the host target.
BuildPlan plan_host_build(const std::vector<VerifyProgram>& programs, const std::string& compiler,
                          const WorkDir& dir);

// A harness for GPUs of compute capability `sm`.
BuildPlan plan_cuda_build(const std::vector<VerifyProgram>& programs, const CudaTools& tools,
                          int sm, const WorkDir& dir);

// Collects the sources of a harness for GPUs.
class CudaBuild {
 public:
  CudaBuild(const CudaTools& tools, const WorkDir& dir);

  // A source of the working folder, compiled with nvcc's words for machine code.
  void add(const std::string& source, const std::vector<std::string>& code);
  // The runtime's sources.
  void add_runtime(int sm);
  // A shared library, found again where it lies.
  void link_library(const std::string& library);

  BuildPlan finish();

 private:
  const CudaTools& tools_;
  const WorkDir& dir_;
  BuildPlan plan_;
};

// nvcc's words for machine code for compute capability `sm`: plain, or with the features of `arch`
// (sm_90a's instructions need the 'a').
std::vector<std::string> gpu_code(int sm);
std::vector<std::string> gpu_code(Arch arch, int sm);

// The plan that the runtime will choose there: of those that serve the GPU the highest; or null.
const Plan* chosen_plan(const VerifyProgram& program, int sm);

// Whether a plan for `arch` runs on compute capability `sm`, as the runtime chooses plans
// (runtime/cuda/op/select.h): sm_90a on 9.0 only, the others on every later GPU.
bool serves_gpu(Arch arch, int sm);

enum class BuildResult { built, failed, not_written };

// Compiles and links, `jobs` compilers at a time, and leaves a script that does it again. On
// failure a temporary folder is kept and named.
BuildResult build_harness(const BuildPlan& plan, int jobs, WorkDir& dir, Progress& progress,
                          Diagnostics& diagnostics);

// The name of a source's object file: "runtime/core/api.cpp" gives "obj/runtime_core_api.cpp.o".
std::string object_name(llvm::StringRef source);

// Paths of the sources (.cpp, .cu) that lie in one of the folders or in folders inside it.
std::vector<std::string> sources_under(const std::vector<std::string>& folders);

// Translation units that are several sources in one, because what a small source costs is mostly
// the headers it reads: the harness's own C++ sources, and on the host many programs in each.
struct Unit {
  std::string name;  // "unit_3.cpp"
  std::string text;
};
inline constexpr size_t kProgramsPerUnit = 40;
Unit harness_unit(const std::vector<std::string>& sources);  // the C++ ones of them
Unit verify_unit(bool cuda);
std::vector<Unit> program_units(const std::vector<VerifyProgram>& programs);

}  // namespace tilepost
