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

// Whether `name` is a temporary name of a file that will be renamed to `final`:
// "<final>.123abc.tmp".
bool is_temporary_of(llvm::StringRef name, llvm::StringRef final);
constexpr const char* kTemporarySuffix = ".tmp";

// A file that is written under a temporary name beside its place, so that its place never holds
// half of it.
struct TemporaryFile {
  std::string path, final;

  // Moves the file to its place, or removes it if that fails.
  std::error_code rename() const;
  void remove() const;
};

// Whether there is a file of which no user, or not this one, may change what it holds. Renaming
// another file over it would replace it nevertheless.
bool is_read_only(const std::string& path);
// What is said of such a file that would have to change.
constexpr const char* kReadOnly =
    "Permission denied: it is read-only; remove it or make it writable";

// Writes `text` to a new temporary file, which it describes in `file`. The umask is taken off
// `permissions` (llvm::sys::fs::perms). After an error no file is left.
std::error_code write_temporary(const std::string& final, llvm::StringRef text,
                                unsigned permissions, TemporaryFile& file);

}  // namespace tilepost
