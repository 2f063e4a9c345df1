// The folder in which a verification is built.
#pragma once

#include <string>

#include "generator/diagnostics.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {

class WorkDir {
 public:
  // Uses `keep_dir`, making it if missing, or a new temporary folder if empty. ok() is false, and
  // the reason reported, if that fails.
  WorkDir(const std::string& keep_dir, Diagnostics& diagnostics);

  // Removes a temporary folder unless keep() was called.
  ~WorkDir();
  WorkDir(const WorkDir&) = delete;
  WorkDir& operator=(const WorkDir&) = delete;

  bool ok() const { return !path_.empty(); }
  void keep() { temporary_ = false; }
  bool temporary() const { return temporary_; }
  const std::string& path() const { return path_; }

  // The absolute path of a file in the folder.
  std::string path(llvm::StringRef file) const;

  // Writes a file, making its folders. If it cannot, reports why.
  bool write(llvm::StringRef file, llvm::StringRef text, Diagnostics& diagnostics) const;

 private:
  std::string path_;
  bool temporary_ = false;
};

}  // namespace tilepost
