// Writes a harness's sources into the working folder and says how to compile it.
#pragma once

#include <string>
#include <vector>

#include "generator/harness/commands.h"
#include "generator/harness/machine.h"
#include "generator/harness/programs.h"
#include "generator/harness/work_dir.h"

namespace tilepost {

// Compile commands, independent of each other, then the link command.
struct BuildPlan {
  std::vector<Command> compile;  // of sources that differ from run to run
  std::vector<Command> common;   // of sources that the tool carries, the same in every run
  Command link;
  std::string harness;  // the program that these commands make
};

// Adds the command that compiles a source of the working folder: `words`, the include folders, the
// source and its object.
void add_compile(std::vector<std::string> words, const std::string& source, double seconds,
                 const WorkDir& dir, BuildPlan& plan);

// Collects the sources of a harness for GPUs.
class CudaBuild {
 public:
  CudaBuild(const CudaTools& tools, const WorkDir& dir);

  // Adds a source of the working folder, compiled with the options `code` for machine code and with
  // `more`.
  void add(const std::string& source, const std::vector<std::string>& code,
           const std::vector<std::string>& more = {});
  // Adds the source of a program, and that of its plain kernel if `plain` is set.
  void add_program(const HarnessProgram& program, const std::vector<std::string>& code, bool plain);
  // Adds the runtime's sources.
  void add_runtime(int sm);
  // Links a shared library. When the program runs, it finds the library in its present folder
  // (rpath).
  void link_library(const std::string& library);

  BuildPlan finish();

 private:
  const CudaTools& tools_;
  const WorkDir& dir_;
  BuildPlan plan_;
};

// nvcc's options for machine code for compute capability `sm`: without or with the features of
// `arch` (sm_90a's instructions need the 'a').
std::vector<std::string> gpu_code(int sm);
std::vector<std::string> gpu_code(Arch arch, int sm);

// The plan that the runtime will choose on compute capability `sm`: among those that serve the GPU,
// the one of the highest architecture; or null.
const Plan* chosen_plan(const HarnessProgram& program, int sm);

// Whether a plan for `arch` runs on compute capability `sm`, as the runtime chooses plans
// (runtime/cuda/op/select.h): sm_90a on 9.0 only, the others on every later GPU.
bool serves_gpu(Arch arch, int sm);

// 90 for sm_90a.
int compute_capability(Arch arch);

enum class BuildResult { built, failed, not_written };

// Compiles and links, `jobs` compilers at a time, and leaves a script that does it again. Common
// objects come from the folder `cache` if it has them, and are kept there; "": there is no cache.
// On failure a temporary folder is kept and named.
BuildResult build_harness(const BuildPlan& plan, int jobs, const std::string& cache, WorkDir& dir,
                          Progress& progress, Diagnostics& diagnostics);

// The name of a source's object file: "runtime/core/api.cpp" gives "obj/runtime_core_api.cpp.o".
std::string object_name(llvm::StringRef source);

// Paths of the sources (.cpp, .cu) that lie in one of the folders or in folders inside it.
std::vector<std::string> sources_under(const std::vector<std::string>& folders);

// The folders of the runtime of a target, and the sources in them.
std::vector<std::string> runtime_folders(bool cuda);
std::vector<std::string> runtime_sources(bool cuda);

// A translation unit that is several sources in one, because what a small source costs is mostly
// the headers it reads.
struct Unit {
  std::string name;  // "unit_3.cpp"
  std::string text;
};

// A harness's own sources: the C++ ones of `sources`.
Unit harness_unit(const std::vector<std::string>& sources);

// Writes what the tool carries: the runtime, the public headers, the harnesses and, if asked for,
// the templates.
bool write_resources(bool templates, const WorkDir& dir, Diagnostics& diagnostics);

}  // namespace tilepost
