#include "generator/clang/toolkit.h"

#include <cstdlib>
#include <vector>

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

namespace tilepost {
namespace {

namespace path = llvm::sys::path;

// The folder above bin/nvcc. If bin/nvcc is a link, also the folder above the link's target.
std::vector<std::string> folders_of(const std::string& nvcc) {
  const auto above = [](llvm::StringRef file) {
    return path::parent_path(path::parent_path(file)).str();
  };
  std::vector<std::string> folders = {above(nvcc)};
  llvm::SmallString<256> real;
  if (!llvm::sys::fs::real_path(nvcc, real)) folders.push_back(above(real));
  return folders;
}

// The places of cuda::barrier<thread_scope_block> in toolkits.
constexpr const char* kBarriers[] = {"/include/cccl/cuda/__barrier/barrier_block_scope.h",
                                     "/include/cuda/__barrier/barrier_block_scope.h"};

// The header's text with an empty destructor, or "" if the destructor is not written as expected.
std::string without_destructor(llvm::StringRef text) {
  const size_t name = text.find("~barrier()");
  const size_t open = name == llvm::StringRef::npos ? name : text.find_first_of("{;=", name);
  if (open == llvm::StringRef::npos || text[open] != '{') return "";
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    depth += (text[at] == '{') - (text[at] == '}');
    if (depth == 0) return (text.take_front(open + 1) + text.drop_front(at)).str();
  }
  return "";
}

// Folders in which Clang's driver finds headers of the toolkit: the second one where links lead to
// the toolkit's.
std::vector<std::string> header_folders(const std::string& toolkit) {
  return {toolkit + "/include", "/usr/local/include", "/usr/include"};
}

// Headers of pairs of 16-bit numbers.
constexpr const char* kPairs[] = {"/cuda_fp16.h", "/cuda_fp16.hpp", "/cuda_bf16.h",
                                  "/cuda_bf16.hpp"};

// The header's text without the assignment of a pair's bits by '='. The pair's constructor takes
// them too, so that `pair = bits` still has a meaning.
std::string without_assigned_bits(std::string text) {
  for (const std::string type : {"__half2_raw ", "__nv_bfloat162_raw "}) {
    const std::string assign = "operator=(const " + type;
    for (size_t at = 0; (at = text.find(assign, at)) != std::string::npos;)
      text.replace(at, assign.size(), "tilepost_assign(const " + type);
  }
  return text;
}

}  // namespace

bool is_toolkit(const std::string& folder) {
  return !folder.empty() && llvm::sys::fs::exists(folder + "/include/cuda_runtime.h");
}

ToolkitVersion version_of_toolkit(const std::string& folder) {
  constexpr llvm::StringRef kDefine = "#define CUDA_VERSION ";
  const auto header = llvm::MemoryBuffer::getFile(folder + "/include/cuda.h", /*IsText=*/true);
  if (!header) return {};
  const llvm::StringRef text = (*header)->getBuffer();
  const size_t at = text.find(kDefine);
  int version = 0;  // 1000 * major + 10 * minor
  if (at == llvm::StringRef::npos || text.drop_front(at + kDefine.size())
                                         .ltrim()
                                         .take_while(llvm::isDigit)
                                         .getAsInteger(10, version))
    return {};
  return {version / 1000, version % 1000 / 10};
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

std::vector<AdaptedHeader> adapted_headers(const std::string& toolkit) {
  std::vector<AdaptedHeader> list;
  for (const char* name : kBarriers) {
    const auto read = llvm::MemoryBuffer::getFile(toolkit + name, /*IsText=*/true);
    if (!read) continue;
    std::string text = without_destructor((*read)->getBuffer());
    if (!text.empty()) list.push_back({toolkit + name, std::move(text)});
  }
  for (const std::string& folder : header_folders(toolkit)) {
    for (const char* name : kPairs) {
      const auto read = llvm::MemoryBuffer::getFile(folder + name, /*IsText=*/true);
      if (read) list.push_back({folder + name, without_assigned_bits((*read)->getBuffer().str())});
    }
  }
  return list;
}

}  // namespace tilepost
