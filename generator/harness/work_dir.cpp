#include "generator/harness/work_dir.h"

#include <fmt/format.h>

#include "generator/whole_files.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {
namespace fs = llvm::sys::fs;

WorkDir::WorkDir(const std::string& keep_dir, Diagnostics& diagnostics) {
  llvm::SmallString<256> path(keep_dir);
  std::error_code error;
  if (keep_dir.empty()) {
    error = fs::createUniqueDirectory("tilepost", path);
    temporary_ = !error;
  } else {
    error = fs::create_directories(path, true, fs::all_all);
    if (!error) error = fs::make_absolute(path);
  }
  if (error)
    diagnostics.error(
        fmt::format("cannot make folder '{}': {}", std::string_view(path.str()), error.message()));
  else
    path_ = path.str().str();
}

WorkDir::~WorkDir() {
  if (temporary_) fs::remove_directories(path_);
}

std::string WorkDir::path(llvm::StringRef file) const {
  return joined(path_, file);
}

bool WorkDir::write(llvm::StringRef file, llvm::StringRef text, Diagnostics& diagnostics) const {
  const std::string path = this->path(file);
  std::error_code error =
      fs::create_directories(llvm::sys::path::parent_path(path), true, fs::all_all);
  if (!error) {
    llvm::raw_fd_ostream stream(path, error);
    if (!error) {
      stream << text;
      stream.close();
      error = stream.error();
      stream.clear_error();
    }
  }
  if (error) diagnostics.error("cannot write '" + path + "': " + error.message());
  return !error;
}

}  // namespace tilepost
