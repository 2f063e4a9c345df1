#include "generator/cli/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "generator/whole_files.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

namespace tilepost {
namespace {

namespace fs = llvm::sys::fs;

constexpr uint64_t kMaxInputBytes = 16u << 20;

// Reads to the end of the file or to the bound, because a pipe or a device may never end. Returns
// what went wrong, or "".
std::string read_bounded(fs::file_t file, std::string& text) {
  std::vector<char> buffer(1 << 16);
  for (;;) {
    llvm::Expected<size_t> bytes = fs::readNativeFile(file, buffer);
    if (!bytes) return llvm::toString(bytes.takeError());
    if (*bytes == 0) return "";
    text.append(buffer.data(), *bytes);
    if (text.size() > kMaxInputBytes)
      return "more than " + std::to_string(kMaxInputBytes) + " bytes, a spec has at most 1048576";
  }
}

// While a lock lives, no other program writes sets of files into the folder. A program that is
// killed leaves no lock behind. Not every file system has such locks. Without them the sets of two
// programs may mix, which the compiler notices (plan_symbol in emit/parts.h).
class FolderLock {
 public:
  explicit FolderLock(const std::string& dir)
      : descriptor_(open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ < 0) return;
    int result = 0;
    do result = flock(descriptor_, LOCK_EX);
    while (result != 0 && errno == EINTR);
    held_ = result == 0;
  }
  ~FolderLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  bool held() const { return held_; }

 private:
  int descriptor_;
  bool held_ = false;
};

// Removes temporary files of `files` that killed programs have left. Because of the lock no other
// program uses such a file.
void remove_abandoned(const std::string& dir, const std::vector<OutputFile>& files) {
  std::error_code error;
  for (fs::directory_iterator entry(dir, error), end; !error && entry != end;
       entry.increment(error)) {
    const llvm::StringRef name = llvm::sys::path::filename(entry->path());
    for (const OutputFile& file : files)
      if (is_temporary_of(name, file.name)) fs::remove(entry->path());
  }
}

bool make_folder(const std::string& dir, Diagnostics& diagnostics) {
  const auto error = fs::create_directories(dir, /*IgnoreExisting=*/true, fs::all_all);
  if (error) diagnostics.error("cannot create folder '" + dir + "': " + error.message());
  return !error;
}

// Whether an output may be put at `path`. Renaming a file over a device would replace the device,
// and reading a device may never end.
bool may_replace(llvm::StringRef path, Diagnostics& diagnostics) {
  if (!fs::exists(path) || fs::is_regular_file(path)) return true;
  diagnostics.error(
      fmt::format("cannot write '{}': it is not a regular file", std::string_view(path)));
  return false;
}

bool refuse(const std::string& path, const std::string& why, Diagnostics& diagnostics) {
  diagnostics.error("cannot write '" + path + "': " + why);
  return false;
}

bool are_one_file(const std::string& one, const std::string& other) {
  const auto plain = [](llvm::StringRef path) {
    llvm::SmallString<256> text(path);
    fs::make_absolute(text);
    llvm::sys::path::remove_dots(text, /*remove_dot_dot=*/true);
    return text.str().str();
  };
  return plain(one) == plain(other) || fs::equivalent(one, other);
}

bool refuse_same(const char* flag, const std::string& path, const char* what,
                 Diagnostics& diagnostics) {
  diagnostics.error(fmt::format("{} is '{}', which is {}; name another file", flag, path, what));
  return false;
}

std::string folder_of(llvm::StringRef path) {
  const llvm::StringRef folder = llvm::sys::path::parent_path(path);
  return folder.empty() ? "." : folder.str();
}

}  // namespace

std::optional<std::string> read_text(const std::string& path, Diagnostics& diagnostics) {
  if (path != "-" && fs::is_directory(path)) {
    diagnostics.error("cannot read '" + path + "': it is a folder");
    return std::nullopt;
  }
  llvm::Expected<fs::file_t> file = path == "-" ? llvm::Expected<fs::file_t>(fs::getStdinHandle())
                                                : fs::openNativeFileForRead(path);
  if (!file) {
    diagnostics.error("cannot read '" + path + "': " + llvm::toString(file.takeError()));
    return std::nullopt;
  }
  std::string text;
  const std::string problem = read_bounded(*file, text);
  if (path != "-") fs::closeFile(*file);
  if (problem.empty()) return text;
  diagnostics.error("cannot read '" + path + "': " + problem);
  return std::nullopt;
}

bool write_files(const std::string& dir, const std::vector<OutputFile>& files,
                 Diagnostics& diagnostics) {
  if (!make_folder(dir, diagnostics)) return false;
  const FolderLock lock(dir);
  if (lock.held()) remove_abandoned(dir, files);
  std::vector<TemporaryFile> pending;
  bool ok = true;
  for (const OutputFile& file : files) {
    llvm::SmallString<256> path(joined(dir, file.name));
    llvm::sys::path::remove_dots(path);
    const std::string place = path.str().str();
    ok = may_replace(place, diagnostics);
    if (!ok) break;
    if (text_of_file(place) == file.text) continue;
    if (is_read_only(place)) {
      ok = refuse(place, kReadOnly, diagnostics);
      break;
    }
    const auto error =
        write_temporary(place, file.text, fs::all_read | fs::all_write, pending.emplace_back());
    if (!error) continue;
    pending.pop_back();
    ok = refuse(place, error.message(), diagnostics);
    break;
  }
  // Headers come last: if the program is stopped between two files, it leaves an old header, which
  // the new source refuses.
  std::ranges::stable_partition(pending, [](const TemporaryFile& file) {
    return !llvm::StringRef(file.final).ends_with(".h");
  });
  for (const TemporaryFile& file : pending) {
    if (!ok)
      file.remove();
    else if (const auto error = file.rename())
      ok = refuse(file.final, error.message(), diagnostics);
  }
  return ok;
}

bool write_file(const std::string& path, const std::string& text, Diagnostics& diagnostics) {
  const OutputFile file{llvm::sys::path::filename(path).str(), text};
  return write_files(folder_of(path), {file}, diagnostics);
}

bool can_write_file(const std::string& path, Diagnostics& diagnostics) {
  const std::string folder = folder_of(path);
  if (!make_folder(folder, diagnostics) || !may_replace(path, diagnostics)) return false;
  if (is_read_only(path)) return refuse(path, kReadOnly, diagnostics);
  const auto error = fs::is_directory(folder) ? fs::access(folder, fs::AccessMode::Write)
                                              : std::make_error_code(std::errc::not_a_directory);
  return error ? refuse(path, error.message(), diagnostics) : true;
}

bool check_apart(const char* flag, const std::string& path, const std::vector<std::string>& sources,
                 Diagnostics& diagnostics) {
  for (const std::string& source : sources)
    if (are_one_file(source, path))
      return refuse_same(flag, path, source == sources.front() ? "the spec" : "the kernel",
                         diagnostics);
  return true;
}

bool check_depfile(const std::string& depfile, const std::string& dir,
                   const std::vector<OutputFile>& files, const std::vector<std::string>& sources,
                   Diagnostics& diagnostics) {
  if (!check_apart("--depfile", depfile, sources, diagnostics)) return false;
  std::vector<std::string> others = sources;
  for (const OutputFile& file : files) {
    others.push_back(joined(dir, file.name));
    if (are_one_file(others.back(), depfile))
      return refuse_same("--depfile", depfile, "one of the outputs", diagnostics);
  }
  for (const std::string& path : others)
    if (path.find_first_of("\r\n") != std::string::npos) {
      diagnostics.error(fmt::format("a depfile cannot name '{}': it has a line end", path));
      return false;
    }
  return true;
}

std::string make_depfile(const std::string& dir, const std::vector<OutputFile>& files,
                         const std::vector<std::string>& sources) {
  const auto escaped = [](llvm::StringRef path) {
    std::string text;
    for (const char c : path) {
      if (c == ' ' || c == '#' || c == ':') text += '\\';
      if (c == '$') text += '$';
      text += c;
    }
    return text;
  };
  std::string text;
  for (const OutputFile& file : files) {
    llvm::SmallString<256> path(joined(dir, file.name));
    llvm::sys::path::remove_dots(path);
    text += escaped(path) + " ";
  }
  text.back() = ':';
  for (const std::string& source : sources) text += " " + escaped(source);
  return text + "\n";
}

}  // namespace tilepost
