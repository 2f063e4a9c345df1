#include "generator/weave/parse/toolkit.h"

#include <cstdlib>
#include <vector>

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

namespace tilepost {
namespace {

namespace path = llvm::sys::path;

// The folder above bin/nvcc. Where that is a link or a script out of the toolkit, its target's.
std::vector<std::string> folders_of(const std::string& nvcc) {
  const auto above = [](llvm::StringRef file) {
    return path::parent_path(path::parent_path(file)).str();
  };
  std::vector<std::string> folders = {above(nvcc)};
  llvm::SmallString<256> real;
  if (!llvm::sys::fs::real_path(nvcc, real)) folders.push_back(above(real));
  return folders;
}

}  // namespace

bool is_toolkit(const std::string& folder) {
  return !folder.empty() && llvm::sys::fs::exists(folder + "/include/cuda_runtime.h");
}

std::optional<std::string> find_toolkit(std::string& looked) {
  std::vector<std::string> folders;
  const auto add_program = [&](llvm::StringRef name) {
    const auto nvcc = llvm::sys::findProgramByName(name);
    if (!nvcc) return;
    for (const std::string& folder : folders_of(*nvcc)) folders.push_back(folder);
  };
  if (const char* compiler = std::getenv("CUDACXX")) add_program(compiler);
  add_program("nvcc");
  for (const char* name : {"CUDA_PATH", "CUDA_HOME"}) {
    if (const char* folder = std::getenv(name)) folders.emplace_back(folder);
  }
  folders.emplace_back("/usr/local/cuda");
  for (const std::string& folder : folders) {
    if (is_toolkit(folder)) return folder;
  }
  looked = "looked for include/cuda_runtime.h in " + llvm::join(folders, ", ") +
           "; set CUDACXX to the toolkit's bin/nvcc";
  return std::nullopt;
}

}  // namespace tilepost
