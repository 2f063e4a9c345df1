#include "generator/harness/machine.h"

#include <cstdlib>

#include "generator/whole_files.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/StringSaver.h"

namespace tilepost {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::optional<std::string> find_program(const std::string& name) {
  const auto found = llvm::sys::findProgramByName(name);
  return found && llvm::sys::fs::can_execute(*found) ? std::optional(*found) : std::nullopt;
}

std::vector<std::string> split_words(const std::string& text) {
  llvm::BumpPtrAllocator memory;
  llvm::StringSaver saver(memory);
  llvm::SmallVector<const char*, 8> words;
  llvm::cl::TokenizeGNUCommandLine(text, saver, words);
  return {words.begin(), words.end()};
}

// The path of the first of `files` that is in one of the folders, in the first folder that has it;
// or "".
std::string find_file(const std::vector<std::string>& folders,
                      const std::vector<std::string>& files) {
  for (const std::string& file : files)
    for (const std::string& folder : folders)
      if (const std::string path = joined(folder, file); llvm::sys::fs::exists(path)) return path;
  return "";
}

// The folder of the toolkit. `nvcc` may be a link from elsewhere, so the toolkit is looked for
// around its target.
std::string toolkit_root(const std::string& nvcc) {
  llvm::SmallString<256> real;
  if (llvm::sys::fs::real_path(nvcc, real)) real = nvcc;
  return llvm::sys::path::parent_path(llvm::sys::path::parent_path(real)).str();
}

std::vector<std::string> library_folders(const std::vector<std::string>& roots) {
  std::vector<std::string> folders;
  for (const std::string& root : roots)
    for (const char* folder : {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"})
      folders.push_back(joined(root, folder));
  return folders;
}

// Finds NCCL's header and library in one folder, the root, because those of two installations need
// not fit. If NCCL_ROOT or NCCL_HOME names a root, no other is looked at. Returns what is missing,
// or "".
std::string find_nccl(const std::string& toolkit, CudaTools& tools) {
  std::string asked_by = "NCCL_ROOT";
  if (environment(asked_by.c_str()).empty()) asked_by = "NCCL_HOME";
  const std::string asked = environment(asked_by.c_str());
  if (!asked.empty() && !llvm::sys::fs::is_directory(asked))
    return "NCCL: " + asked_by + " names '" + asked + "', and there is no such folder";
  const std::vector<std::string> roots =
      asked.empty() ? std::vector<std::string>{toolkit, "/usr/local", "/usr"} : std::vector{asked};
  bool has_header = false;
  for (const std::string& root : roots) {
    tools.nccl_include = joined(root, "include");
    tools.nccl_library = find_file(library_folders({root}), {"libnccl.so", "libnccl.so.2"});
    const bool header = llvm::sys::fs::exists(joined(tools.nccl_include, "nccl.h"));
    if (header && !tools.nccl_library.empty()) return "";
    has_header = has_header || header;
  }
  return "NCCL's " + std::string(has_header ? "libnccl.so" : "nccl.h") +
         (has_header ? " beside its nccl.h" : "") + ": looked under " + llvm::join(roots, ", ") +
         (asked.empty() ? "; set NCCL_ROOT" : ", which " + asked_by + " names");
}

}  // namespace

std::vector<std::string> find_host_compiler(std::string& looked_for) {
  if (const std::string chosen = environment("CXX"); !chosen.empty()) {
    // A path with blanks needs no quotes here.
    std::vector<std::string> words =
        find_program(chosen) ? std::vector{chosen} : split_words(chosen);
    if (words.empty()) words = {chosen};
    looked_for = "'" + words[0] + "' (from CXX)";
    const auto found = find_program(words[0]);
    if (!found) return {};
    words[0] = *found;
    return words;
  }
  looked_for = "c++, g++, clang++ in PATH; set CXX";
  for (const char* name : {"c++", "g++", "clang++"})
    if (const auto found = find_program(name)) return {*found};
  return {};
}

std::string find_nvcc(std::string& missing) {
  const std::string chosen = environment("CUDACXX");
  if (!chosen.empty()) {
    missing = "nvcc: looked for '" + chosen + "' (from CUDACXX)";
    return find_program(chosen).value_or("");
  }
  const char* usual = "/usr/local/cuda/bin/nvcc";
  missing = "nvcc: looked in PATH and /usr/local/cuda/bin; set CUDACXX";
  return find_program("nvcc").value_or(llvm::sys::fs::can_execute(usual) ? std::string(usual) : "");
}

std::optional<CudaTools> find_cuda_tools(std::string& missing) {
  CudaTools tools;
  tools.nvcc = find_nvcc(missing);
  if (tools.nvcc.empty()) return std::nullopt;

  const std::string toolkit = toolkit_root(tools.nvcc);
  tools.cuda_include = joined(toolkit, "include");
  missing = find_nccl(toolkit, tools);
  return missing.empty() ? std::optional(tools) : std::nullopt;
}

std::string find_toolkit_library(const CudaTools& tools, const std::string& library) {
  const std::string root = llvm::sys::path::parent_path(tools.cuda_include).str();
  return find_file(library_folders({root, "/usr/local/cuda", "/usr"}), {library});
}

}  // namespace tilepost
