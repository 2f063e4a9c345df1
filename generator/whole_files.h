// Paths, and files that are read or written as a whole.
#pragma once

#include <optional>
#include <string>
#include <system_error>

#include "llvm/ADT/StringRef.h"

namespace tilepost {

// The path of `file` in `folder`.
std::string joined(llvm::StringRef folder, llvm::StringRef file);

// What a file holds; nothing if it cannot be read.
std::optional<std::string> text_of_file(const std::string& path);

// The name of a file that is yet to be renamed to `final`, beside it: "<final>.123abc.tmp".
bool is_temporary_of(llvm::StringRef name, llvm::StringRef final);
constexpr const char* kTemporarySuffix = ".tmp";

// A file that is written under a temporary name beside its place, so that nobody ever sees half of
// it there.
struct TemporaryFile {
  std::string path, final;

  // To its place; removed if that fails.
  std::error_code rename() const;
  void remove() const;
};

// `permissions` of llvm::sys::fs::perms, less the umask. Nothing is left of it after an error.
std::error_code write_temporary(const std::string& final, llvm::StringRef text,
                                unsigned permissions, TemporaryFile& file);

}  // namespace tilepost
