#include <algorithm>

#include "generator/verify/build.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Path.h"

namespace tilepost {
namespace {

constexpr double kCompileSeconds = 900;

// nvcc's words for machine code for the GPU, compiled as `arch`'s features allow.
std::vector<std::string> code_for(const std::string& arch, const std::string& gpu) {
  return {"-gencode", "arch=compute_" + arch + ",code=sm_" + gpu};
}

std::string number_of(Arch arch) {
  return llvm::StringRef(name_of(arch)).drop_front(3).str();
}

// Code for the plan that the runtime will choose: of those that serve the GPU the highest.
// sm_90a's instructions need the 'a'.
std::vector<std::string> code_for(const VerifyProgram& program, int sm) {
  std::string best;
  for (const Plan& plan : program.plans)
    if (serves_gpu(plan.arch, sm)) best = std::max(best, number_of(plan.arch));
  return code_for(best, best == "90a" ? best : std::to_string(sm));
}

class CudaBuild {
 public:
  CudaBuild(const CudaTools& tools, const WorkDir& dir) : tools_(tools), dir_(dir) {
    plan_.harness = dir.path("harness");
    plan_.link = {{tools.nvcc, "-o", plan_.harness}, dir.path("obj/link.log"), kCompileSeconds};
  }

  void add(const std::string& source, const std::vector<std::string>& code) {
    const std::string object = dir_.path(object_name(source));
    Command command{{tools_.nvcc, "-std=c++20", "-O3"}, object + ".log", kCompileSeconds};
    command.argv.insert(command.argv.end(), code.begin(), code.end());
    for (const std::string& word :
         {"-I" + dir_.path(), "-I" + dir_.path("include"), "-I" + tools_.nccl_include,
          std::string("-c"), dir_.path(source), std::string("-o"), object})
      command.argv.push_back(word);
    plan_.compile.push_back(std::move(command));
    plan_.link.argv.push_back(object);
  }

  BuildPlan finish() {
    const std::string folder = llvm::sys::path::parent_path(tools_.nccl_library).str();
    for (const std::string& word : {tools_.nccl_library, std::string("-Xlinker"),
                                    "-rpath=" + folder, std::string("-lpthread")})
      plan_.link.argv.push_back(word);
    return plan_;
  }

 private:
  const CudaTools& tools_;
  const WorkDir& dir_;
  BuildPlan plan_;
};

}  // namespace

bool serves_gpu(Arch arch, int sm) {
  if (arch == Arch::host) return false;
  return arch == Arch::sm_90a ? sm == 90 : std::stoi(number_of(arch)) <= sm;
}

BuildPlan plan_cuda_build(const std::vector<VerifyProgram>& programs, const CudaTools& tools,
                          int sm, const WorkDir& dir) {
  CudaBuild build(tools, dir);
  for (const VerifyProgram& program : programs)
    build.add("programs/" + program.name + ".cu", code_for(program, sm));
  const std::vector<std::string> own = code_for(std::to_string(sm), std::to_string(sm));
  build.add(harness_unit(/*cuda=*/true).name, own);
  for (const std::string& source : sources_in({"runtime/core", "runtime/map", "runtime/cuda"}))
    build.add(source, own);
  for (const std::string& source : sources_in({"runtime/verify/cuda"}))
    if (llvm::StringRef(source).ends_with(".cu")) build.add(source, own);
  build.add("registry.cpp", own);
  return build.finish();
}

}  // namespace tilepost
