#include "generator/verify/own_on_cpu.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "generator/clang/tokens.h"
#include "generator/emit/emit.h"
#include "generator/emit/emit_own.h"
#include "generator/harness/process.h"
#include "generator/plan/make_plan.h"
#include "generator/verify/harness.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tilepost {
namespace {

// The most products in all runs of all ranks. So many take minutes on a few cores.
constexpr double kMostProducts = 2e10;
constexpr double kTrialSeconds = 120;

// The first thing in the kernel's text that a CPU does not have, or "".
std::string gpu_only(llvm::StringRef text) {
  const Tokens tokens(text);
  for (const Token& token : tokens.all()) {
    const std::string what = llvm::StringSwitch<std::string>(tokens.text(token))
                                 .Cases("asm", "__asm", "__asm__", "it has inline assembly")
                                 .Case("cooperative_groups", "it has cooperative groups")
                                 .Case("__CUDACC__", "it has lines for nvcc alone")
                                 .Cases("__CUDA_ARCH__", "__CUDACC_VER_MAJOR__",
                                        "__CUDACC_VER_MINOR__", "it has lines for a GPU alone")
                                 .Default("");
    if (!what.empty()) return what;
  }
  return "";
}

std::string too_much(const Plan& plan, int runs) {
  const double products = static_cast<double>(plan.map.m) * static_cast<double>(plan.map.n) *
                          static_cast<double>(plan.k) * plan.ranks * (runs + 1);
  if (products <= kMostProducts) return "";
  return fmt::format(
      "{:.1e} products in all are more than the {:.0e} that take minutes there; "
      "try a smaller shape, as with -D gemm.m=256",
      products, kMostProducts);
}

// The first error in what a compiler said.
std::string first_error(const std::string& log) {
  const auto text = llvm::MemoryBuffer::getFile(log);
  if (!text) return "";
  llvm::StringRef rest = (*text)->getBuffer();
  while (!rest.empty()) {
    const auto [line, next] = rest.split('\n');
    const size_t at = line.find("error: ");
    if (at != llvm::StringRef::npos) return line.substr(at).str();
    rest = next;
  }
  return "";
}

// What the compiler says first, or "" if the source compiles.
std::string try_compiling(const std::string& source, const std::vector<std::string>& compiler,
                          const WorkDir& dir) {
  std::vector<std::string> argv = compiler;
  for (const std::string& word :
       {std::string("-std=c++20"), std::string("-w"), std::string("-fsyntax-only"),
        "-I" + dir.path(kShimHeaders), "-I" + dir.path(), "-I" + dir.path("include"),
        "-I" + dir.path("trial"), dir.path(source)})
    argv.push_back(word);
  const std::string log = dir.path("trial/log");
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  Process process;
  std::string error;
  const bool started = file >= 0 && process.start(argv, file, file, error);
  if (file >= 0) close(file);
  if (!started) return "the compiler cannot be started: " + error;
  const auto begin = std::chrono::steady_clock::now();
  while (!process.ended()) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    if (interrupted() || seconds.count() > kTrialSeconds) {
      process.kill();
      return "the compiler did not end";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (process.succeeded()) return "";
  return "it does not compile with the headers that stand in for CUDA's: " + first_error(log) +
         "; keep it in a file without headers of libraries, if they are the cause";
}

}  // namespace

std::string obstacle_on_cpu(const Plan& plan, int runs, const std::vector<std::string>& compiler,
                            const WorkDir& dir, Diagnostics& diagnostics) {
  if (plan.source.own->spec.cutlass.value) return "it is made of CUTLASS's types";
  if (plan.source.own->spec.launcher.given()) return "it has a launcher, which is CUDA's";
  const std::vector<Plan> twins = {cpu_twin(plan)};
  const std::string plain = emit_plain(twins, diagnostics);
  const std::vector<OutputFile> files = emit(twins, "trial", diagnostics);
  if (plain.empty() || files.empty()) return "it is refused";
  if (const std::string what = gpu_only(plain); !what.empty()) return what;
  if (const std::string what = too_much(plan, runs); !what.empty()) return what;
  for (const OutputFile& file : files)
    if (!dir.write("trial/" + file.name, file.text, diagnostics)) return "it cannot be written";
  if (!dir.write("trial/plain.cpp", plain, diagnostics)) return "it cannot be written";
  const std::string error = try_compiling("trial/plain.cpp", compiler, dir);
  return error.empty() ? try_compiling("trial/" + files.front().name, compiler, dir) : error;
}

}  // namespace tilepost
