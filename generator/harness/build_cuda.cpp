#include <algorithm>

#include "generator/harness/build.h"
#include "generator/spec/kernel/kernel_flags.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Path.h"

namespace tilepost {
namespace {

constexpr double kCompileSeconds = 900;

// nvcc's options for machine code for `gpu`, compiled with the features of `arch`.
std::vector<std::string> code_for(const std::string& arch, const std::string& gpu) {
  return {"-gencode", "arch=compute_" + arch + ",code=sm_" + gpu};
}

std::string number_of(Arch arch) {
  return llvm::StringRef(name_of(arch)).drop_front(3).str();
}

}  // namespace

CudaBuild::CudaBuild(const CudaTools& tools, const WorkDir& dir) : tools_(tools), dir_(dir) {
  plan_.harness = dir.path("harness");
  plan_.link = {{tools.nvcc, "-o", plan_.harness}, dir.path("obj/link.log"), kCompileSeconds};
}

void CudaBuild::add(const std::string& source, const std::vector<std::string>& code,
                    const std::vector<std::string>& more) {
  std::vector<std::string> words = {tools_.nvcc, "-std=c++20", "-O3",
                                    "-Xcompiler=-ffp-contract=off"};
  words.insert(words.end(), code.begin(), code.end());
  words.push_back("-I" + tools_.nccl_include);
  words.insert(words.end(), more.begin(), more.end());
  add_compile(std::move(words), source, kCompileSeconds, dir_, plan_);
}

void CudaBuild::add_program(const HarnessProgram& program, const std::vector<std::string>& code,
                            bool plain) {
  std::vector<std::string> more;
  const auto& own = program.plans.front().source.own;
  if (own) more = flags_of(own->spec);
  if (own && !own->folders.empty()) {
    // CUTLASS's headers need the first, for example, and ThunderKittens' the second.
    for (const char* flag : {"--expt-relaxed-constexpr", "--extended-lambda"})
      if (std::ranges::find(more, flag) == more.end()) more.emplace_back(flag);
    for (const std::string& folder : own->folders) more.push_back("-I" + folder);
  }
  add("programs/" + program.name + ".cu", code, more);
  if (plain) add(plain_source(program), code, more);
}

void CudaBuild::add_runtime(int sm) {
  for (const std::string& source : runtime_sources(/*cuda=*/true)) add(source, gpu_code(sm));
}

void CudaBuild::link_library(const std::string& library) {
  const std::string folder = llvm::sys::path::parent_path(library).str();
  for (const std::string& word : {library, std::string("-Xlinker"), "-rpath=" + folder})
    plan_.link.argv.push_back(word);
}

BuildPlan CudaBuild::finish() {
  link_library(tools_.nccl_library);
  for (const char* library : {"-lpthread", "-ldl"}) plan_.link.argv.push_back(library);
  return plan_;
}

std::vector<std::string> gpu_code(int sm) {
  return code_for(std::to_string(sm), std::to_string(sm));
}

std::vector<std::string> gpu_code(Arch arch, int sm) {
  const std::string number = number_of(arch);
  return code_for(number, number == "90a" ? number : std::to_string(sm));
}

int compute_capability(Arch arch) {
  return std::stoi(number_of(arch));
}

bool serves_gpu(Arch arch, int sm) {
  if (arch == Arch::host) return false;
  return arch == Arch::sm_90a ? sm == 90 : compute_capability(arch) <= sm;
}

const Plan* chosen_plan(const HarnessProgram& program, int sm) {
  const Plan* best = nullptr;
  for (const Plan& plan : program.plans)
    if (serves_gpu(plan.arch, sm) &&
        (best == nullptr || number_of(plan.arch) > number_of(best->arch)))
      best = &plan;
  return best;
}

}  // namespace tilepost
