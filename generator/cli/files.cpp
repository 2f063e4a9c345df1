#include "generator/cli/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {
namespace {

namespace fs = llvm::sys::fs;

constexpr uint64_t kMaxInputBytes = 16u << 20;

// A file written under a temporary name, not yet in its place.
struct Pending {
  std::string temporary, final;
};

// Reads to the end, or to the bound: a pipe or a device may never end. Returns what went wrong, or
// "".
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

bool same_contents(llvm::StringRef path, llvm::StringRef text) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  return buffer && (*buffer)->getBuffer() == text;
}

std::optional<Pending> write_temporary(llvm::StringRef path, llvm::StringRef text,
                                       Diagnostics& diagnostics) {
  int descriptor = -1;
  llvm::SmallString<256> temporary;
  if (const auto error = fs::createUniqueFile(path + ".%%%%%%.tmp", descriptor, temporary,
                                              fs::OF_None, fs::all_read | fs::all_write)) {
    diagnostics.error(
        fmt::format("cannot write '{}': {}", std::string_view(path), error.message()));
    return std::nullopt;
  }
  llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
  out << text;
  out.close();
  if (out.has_error()) {
    diagnostics.error(
        fmt::format("cannot write '{}': {}", std::string_view(path), out.error().message()));
    out.clear_error();
    fs::remove(temporary);
    return std::nullopt;
  }
  return Pending{temporary.str().str(), path.str()};
}

// Excludes other programs that write sets into a folder, as long as it lives. It leaves nothing
// behind when the program is killed. Not every file system has such locks; there, sets of two
// programs may mix, which the compiler sees (emit.h).
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

// Removes temporaries of `files` that programs left which were killed. Under the lock nobody else's
// are in use.
void remove_abandoned(const std::string& dir, const std::vector<OutputFile>& files) {
  std::error_code error;
  for (fs::directory_iterator entry(dir, error), end; !error && entry != end;
       entry.increment(error)) {
    const llvm::StringRef name = llvm::sys::path::filename(entry->path());
    for (const OutputFile& file : files) {
      llvm::StringRef rest = name;
      if (rest.consume_front(file.name) && rest.consume_front(".") && rest.consume_back(".tmp") &&
          rest.size() == 6 && llvm::all_of(rest, llvm::isHexDigit))
        fs::remove(entry->path());
    }
  }
}

bool make_folder(const std::string& dir, Diagnostics& diagnostics) {
  const auto error = fs::create_directories(dir, /*IgnoreExisting=*/true, fs::all_all);
  if (error) diagnostics.error("cannot create folder '" + dir + "': " + error.message());
  return !error;
}

// Renaming over a device would replace it, and reading one may never end.
bool may_replace(llvm::StringRef path, Diagnostics& diagnostics) {
  if (!fs::exists(path) || fs::is_regular_file(path)) return true;
  diagnostics.error(
      fmt::format("cannot write '{}': it is not a regular file", std::string_view(path)));
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
  std::vector<Pending> pending;
  bool ok = true;
  for (const OutputFile& file : files) {
    llvm::SmallString<256> path(dir);
    llvm::sys::path::append(path, file.name);
    llvm::sys::path::remove_dots(path);
    if (!may_replace(path, diagnostics)) {
      ok = false;
    } else if (same_contents(path, file.text)) {
      continue;
    } else if (auto written = write_temporary(path, file.text, diagnostics)) {
      pending.push_back(*written);
    } else {
      ok = false;
    }
    if (!ok) break;
  }
  // Headers last: who is stopped between two leaves a header that its source refuses.
  std::ranges::stable_partition(
      pending, [](const Pending& file) { return !llvm::StringRef(file.final).ends_with(".h"); });
  for (const Pending& file : pending) {
    if (!ok) {
      fs::remove(file.temporary);
    } else if (const auto error = fs::rename(file.temporary, file.final)) {
      diagnostics.error("cannot write '" + file.final + "': " + error.message());
      fs::remove(file.temporary);
      ok = false;
    }
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
  const auto error = fs::access(folder, fs::AccessMode::Write);
  if (error) diagnostics.error("cannot write '" + path + "': " + error.message());
  return !error;
}

bool check_depfile(const std::string& depfile, const std::string& dir,
                   const std::vector<OutputFile>& files, const std::string& spec,
                   Diagnostics& diagnostics) {
  const auto plain = [](llvm::StringRef path) {
    llvm::SmallString<256> text(path);
    fs::make_absolute(text);
    llvm::sys::path::remove_dots(text, /*remove_dot_dot=*/true);
    return text.str().str();
  };
  std::vector<std::string> others = {spec};
  for (const OutputFile& file : files) {
    llvm::SmallString<256> path(dir);
    llvm::sys::path::append(path, file.name);
    others.push_back(path.str().str());
  }
  for (const std::string& other : others) {
    if (plain(other) != plain(depfile) && !fs::equivalent(other, depfile)) continue;
    diagnostics.error(fmt::format("--depfile is '{}', which is {}; name another file", depfile,
                                  other == spec ? "the spec" : "one of the outputs"));
    return false;
  }
  for (const std::string& path : others)
    if (path.find_first_of("\r\n") != std::string::npos) {
      diagnostics.error(fmt::format("a depfile cannot name '{}': it has a line end", path));
      return false;
    }
  return true;
}

std::string make_depfile(const std::string& dir, const std::vector<OutputFile>& files,
                         const std::string& spec) {
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
    llvm::SmallString<256> path(dir);
    llvm::sys::path::append(path, file.name);
    llvm::sys::path::remove_dots(path);
    text += escaped(path) + " ";
  }
  text.back() = ':';
  text += " " + escaped(spec) + "\n";
  return text;
}

}  // namespace tilepost
