#include "generator/whole_files.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {

namespace fs = llvm::sys::fs;

namespace {

constexpr size_t kDigits = 6;  // random hex digits
constexpr int kTries = 100;    // another process may have taken the same name

// fs::createUniqueFile does not serve here: it replaces every % of the path, also in a folder's
// name.
std::error_code make_file(const std::string& final, unsigned permissions, std::string& path,
                          int& descriptor) {
  std::error_code error;
  for (int i = 0; i < kTries; ++i) {
    const unsigned number = llvm::sys::Process::GetRandomNumber() & ((1u << 4 * kDigits) - 1);
    path = final + "." + llvm::utohexstr(number, /*LowerCase=*/true, kDigits) + kTemporarySuffix;
    error = fs::openFileForWrite(path, descriptor, fs::CD_CreateNew, fs::OF_None, permissions);
    if (error != std::errc::file_exists) break;
  }
  return error;
}

}  // namespace

std::string joined(llvm::StringRef folder, llvm::StringRef file) {
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, file);
  return path.str().str();
}

std::optional<std::string> text_of_file(const std::string& path) {
  const auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                                /*RequiresNullTerminator=*/false);
  if (!file) return std::nullopt;
  return (*file)->getBuffer().str();
}

bool is_temporary_of(llvm::StringRef name, llvm::StringRef final) {
  return name.consume_front(final) && name.consume_front(".") &&
         name.consume_back(kTemporarySuffix) && name.size() == kDigits &&
         llvm::all_of(name, llvm::isHexDigit);
}

std::error_code TemporaryFile::rename() const {
  const std::error_code error = fs::rename(path, final);
  if (error) remove();
  return error;
}

void TemporaryFile::remove() const {
  fs::remove(path);
}

bool is_read_only(const std::string& path) {
  fs::file_status status;
  if (fs::status(path, status)) return false;
  const fs::perms any_write = fs::owner_write | fs::group_write | fs::others_write;
  return (status.permissions() & any_write) == fs::no_perms ||
         fs::access(path, fs::AccessMode::Write) == std::errc::permission_denied;
}

std::error_code write_temporary(const std::string& final, llvm::StringRef text,
                                unsigned permissions, TemporaryFile& file) {
  int descriptor = -1;
  file.final = final;
  if (const auto error = make_file(final, permissions, file.path, descriptor)) return error;
  llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
  out << text;
  out.close();
  const std::error_code error = out.error();
  out.clear_error();
  if (error) file.remove();
  return error;
}

}  // namespace tilepost
