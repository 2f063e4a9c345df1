#include "generator/own/source/read_source.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "generator/clang/limits.h"
#include "generator/clang/prelude.h"
#include "generator/clang/toolkit.h"
#include "generator/own/source/put_headers.h"
#include "generator/resources.h"
#include "generator/spec/text.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

namespace tilepost {
namespace {

using llvm::StringRef;
namespace path = llvm::sys::path;

std::string beside(StringRef folder, StringRef file) {
  if (path::is_absolute(file)) return file.str();
  llvm::SmallString<256> joined(folder);
  path::append(joined, file);
  return joined.str().str();
}

// Reads the file into `text`. Returns why it cannot be read, or "". Only regular files are read: a
// device or a pipe may have no end.
std::string read_text(const std::string& file, std::string& text) {
  llvm::sys::fs::file_status status;
  if (const std::error_code error = llvm::sys::fs::status(file, status)) return error.message();
  if (status.type() == llvm::sys::fs::file_type::directory_file)
    return "it is a folder; kernel.file names the kernel's .cu file";
  if (status.type() != llvm::sys::fs::file_type::regular_file)
    return "it is no file of text; kernel.file names the kernel's .cu file";
  if (status.getSize() > kMaxSourceBytes)
    return fmt::format("it has {} bytes; a kernel's file has at most {}", status.getSize(),
                       kMaxSourceBytes);
  auto read = llvm::MemoryBuffer::getFile(file, /*IsText=*/true);
  if (!read) return read.getError().message();
  text = (*read)->getBuffer().str();
  return "";
}

class Headers {
 public:
  Headers(const KernelSpec& kernel, StringRef spec_folder) {
    for (const Located<std::string>& dir : kernel.include_dirs.value)
      dirs_.push_back(beside(spec_folder, dir.value));
  }

  std::optional<OneFile::File> find(const OneFile::File& includer, StringRef name, bool quoted) {
    if (is_tileposts(name)) return std::nullopt;
    if (quoted)
      if (auto header = read(beside(path::parent_path(includer.name), name))) return header;
    if (is_cudas(name)) return std::nullopt;
    for (const std::string& dir : dirs_)
      if (auto header = read(beside(dir, name))) return header;
    return std::nullopt;
  }

 private:
  // If several paths lead to a file, the first path is the file's name.
  std::optional<OneFile::File> read(const std::string& file) {
    llvm::SmallString<256> real;
    std::string text;
    if (!read_text(file, text).empty() || llvm::sys::fs::real_path(file, real)) return std::nullopt;
    return OneFile::File{names_.try_emplace(real.str().str(), file).first->second, text};
  }

  // Whether the header is one of tilepost's own. Such a header stays an inclusion, even if a folder
  // of the user's has it, because generated code includes it by itself.
  static bool is_tileposts(StringRef name) {
    return name.starts_with("tilepost/") && find_resource("include/" + name.str());
  }

  bool is_cudas(StringRef name) {
    for (const VirtualFile& header : stub_headers())
      if (header.name == name) return true;
    if (!toolkit_) {
      std::string looked;
      toolkit_ = find_toolkit(looked).value_or("");
    }
    return !toolkit_->empty() && llvm::sys::fs::exists(beside(*toolkit_ + "/include", name));
  }

  std::vector<std::string> dirs_;
  std::map<std::string, std::string> names_;  // by real path
  std::optional<std::string> toolkit_;        // the toolkit's folder; "": there is none
};

}  // namespace

std::vector<std::string> folders_of(const KernelSpec& kernel, std::string_view spec_path) {
  const StringRef folder = path::parent_path(spec_path);
  std::vector<std::string> folders;
  const auto add = [&](const Located<std::vector<Located<std::string>>>& list) {
    for (const Located<std::string>& dir : list.value) folders.push_back(beside(folder, dir.value));
  };
  if (kernel.cutlass.value) {
    folders.push_back(folder.str());
    add(kernel.include_dirs);
  }
  add(kernel.system_include_dirs);
  for (std::string& each : folders) {
    llvm::SmallString<256> absolute(each.empty() ? "." : each);
    if (!llvm::sys::fs::make_absolute(absolute)) each = absolute.str().str();
  }
  return folders;
}

bool read_source(const KernelSpec& kernel, std::string_view spec_path, OneFile& source,
                 Diagnostics& diagnostics) {
  const StringRef folder = path::parent_path(spec_path);
  const std::string file = beside(folder, kernel.file.value);
  std::string text;
  if (const std::string why = read_text(file, text); !why.empty()) {
    diagnostics.error(kernel.file.where, fmt::format("cannot read {}: {}", quote(file), why));
    return false;
  }
  source = OneFile(file, text);
  const auto all_there = [&](const Located<std::vector<Located<std::string>>>& list,
                             std::string_view field) {
    for (const Located<std::string>& dir : list.value) {
      const std::string path = beside(folder, dir.value);
      if (llvm::sys::fs::is_directory(path)) continue;
      diagnostics.error(dir.where, fmt::format("{}: there is no folder {}", field, quote(path)));
      return false;
    }
    return true;
  };
  if (!all_there(kernel.include_dirs, "kernel.include_dirs") ||
      !all_there(kernel.system_include_dirs, "kernel.system_include_dirs"))
    return false;
  if (kernel.cutlass.value) return true;
  std::vector<std::string> defines;
  defines.reserve(kernel.defines.value.size());
  for (const Located<std::string>& define : kernel.defines.value) defines.push_back(define.value);
  Headers headers(kernel, folder);
  OneFileError error;
  const auto find = [&](const OneFile::File& includer, StringRef name, bool quoted) {
    return headers.find(includer, name, quoted);
  };
  if (put_headers_in_place(source, defines, find, error)) return true;
  const OneFile::File& at = source.files[error.file];
  const std::string_view known = diagnostics.add_source(at.name, at.text);
  diagnostics.error(place_of(known.substr(error.offset, 1)), error.what);
  return false;
}

}  // namespace tilepost
