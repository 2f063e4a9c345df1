#include "generator/bundle/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>

#include "generator/bundle/bundle.h"
#include "generator/harness/work_dir.h"
#include "generator/printable.h"
#include "generator/whole_files.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace tilepost {
namespace {

namespace fs = llvm::sys::fs;

bool refuse(const std::string& path, const std::string& why, Diagnostics& diagnostics) {
  diagnostics.error(fmt::format("cannot write bundle '{}': {}", printable(path), why));
  return false;
}

// What was found at a path before anything is written.
struct Found {
  bool bundle = false;         // whether a bundle is there; otherwise nothing, or an empty folder
  std::set<std::string> list;  // the files of the bundle
};

// Whether a line of a list is a path inside the bundle. The file there will be removed or replaced.
bool is_inside(llvm::StringRef path) {
  if (path.empty() || path.starts_with("/") || path.contains('\0')) return false;
  llvm::SmallVector<llvm::StringRef> parts;
  path.split(parts, '/');
  return llvm::none_of(
      parts, [](llvm::StringRef part) { return part.empty() || part == "." || part == ".."; });
}

bool is_empty_folder(const std::string& dir) {
  std::error_code error;
  return fs::is_directory(dir) && fs::directory_iterator(dir, error) == fs::directory_iterator() &&
         !error;
}

bool look_at(const std::string& dir, Found& found, Diagnostics& diagnostics) {
  if (!fs::exists(dir) || is_empty_folder(dir)) return true;
  if (!fs::is_directory(dir)) return refuse(dir, "it is not a folder", diagnostics);
  const auto list = text_of_file(joined(dir, kBundleList));
  llvm::SmallVector<llvm::StringRef> lines;
  if (list) llvm::StringRef(*list).split(lines, '\n', -1, /*KeepEmpty=*/false);
  if (lines.empty() || lines[0] != kBundleListHead)
    return refuse(
        dir,
        std::string("the folder is not empty and no bundle of tilepost's, which would have "
                    "a file ") +
            kBundleList + "; name another",
        diagnostics);
  for (const llvm::StringRef line : llvm::drop_begin(lines)) {
    if (!is_inside(line))
      return refuse(dir,
                    fmt::format("its {} has a line that is no path in it: '{}'", kBundleList,
                                printable(line)),
                    diagnostics);
    found.list.insert(line.str());
  }
  found.bundle = true;
  return true;
}

// The folders between the bundle's and the file, "runtime" and "runtime/core".
std::vector<std::string> folders_of(llvm::StringRef file) {
  std::vector<std::string> folders;
  for (size_t at = 0; (at = file.find('/', at)) != llvm::StringRef::npos; ++at)
    folders.push_back(file.take_front(at).str());
  return folders;
}

// Checks that nothing is in the way of a renewal and that nothing leads out of the bundle.
bool check_ways(const std::string& dir, const Found& found, const std::vector<OutputFile>& files,
                Diagnostics& diagnostics) {
  std::set<std::string> all = found.list, folders;
  for (const OutputFile& file : files) {
    all.insert(file.name);
    const std::string path = joined(dir, file.name);
    if (fs::exists(path) && found.list.count(file.name) == 0)
      return refuse(dir, "'" + file.name + "' is there and not tilepost's; move it away",
                    diagnostics);
    if (fs::exists(path) && !fs::is_regular_file(path))
      return refuse(dir, "'" + file.name + "' is not a regular file", diagnostics);
    if (is_read_only(path) && text_of_file(path) != file.text)
      return refuse(dir, "'" + file.name + "': " + kReadOnly, diagnostics);
  }
  for (const std::string& file : all)
    for (const std::string& folder : folders_of(file)) folders.insert(folder);
  for (const std::string& folder : folders) {
    const std::string path = joined(dir, folder);
    if (fs::is_symlink_file(path) || (fs::exists(path) && !fs::is_directory(path)))
      return refuse(dir, "'" + printable(folder) + "' in it is not a folder", diagnostics);
  }
  return true;
}

// A folder for files that are not in their places yet. Only one process at a time has it. Files
// that a killed process left in it are removed.
class Stage {
 public:
  explicit Stage(std::string path) : path_(std::move(path)) {}
  ~Stage() {
    if (descriptor_ < 0) return;
    if (!renamed_) fs::remove_directories(path_);
    close(descriptor_);
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  const std::string& path() const { return path_; }

  // Makes and locks the folder. Returns "", or why it cannot.
  std::string open() {
    constexpr int kTries = 100;  // another process may move or remove it before flock
    for (int i = 0; i < kTries; ++i) {
      if (mkdir(path_.c_str(), 0777) != 0 && errno != EEXIST) return strerror(errno);
      descriptor_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (descriptor_ < 0 && errno == ENOENT) continue;
      if (descriptor_ < 0) return "'" + printable(path_) + "': " + strerror(errno);
      const bool locked = flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
      struct stat held {
      }, there{};
      const bool same = fstat(descriptor_, &held) == 0 && stat(path_.c_str(), &there) == 0 &&
                        held.st_ino == there.st_ino && held.st_dev == there.st_dev;
      if (locked && same) return remove_rest();
      close(descriptor_);
      descriptor_ = -1;
      if (!locked) break;
    }
    return "another process is writing it";
  }

  // Renames the stage, which then stays.
  std::error_code rename_to(const std::string& path) {
    const std::error_code error = fs::rename(path_, path);
    renamed_ = !error;
    return error;
  }

 private:
  std::string remove_rest() const {
    std::error_code error;
    for (fs::directory_iterator at(path_, error), end; !error && at != end; at.increment(error)) {
      if (fs::is_symlink_file(at->path()) || !fs::is_directory(at->path()))
        error = fs::remove(at->path());
      else
        error = fs::remove_directories(at->path(), /*IgnoreErrors=*/false);
      if (error) break;
    }
    return error ? error.message() : "";
  }

  const std::string path_;
  int descriptor_ = -1;
  bool renamed_ = false;
};

bool make_new(const std::string& dir, const std::vector<OutputFile>& files,
              Diagnostics& diagnostics) {
  const std::string parent = llvm::sys::path::parent_path(dir).str();
  if (const auto error = fs::create_directories(parent, true, fs::all_all))
    return refuse(dir, error.message(), diagnostics);
  const std::string leaf = llvm::sys::path::filename(dir).str();
  Stage stage(joined(parent, "." + leaf + ".tilepost"));
  if (const std::string why = stage.open(); !why.empty()) return refuse(dir, why, diagnostics);
  const WorkDir work(stage.path(), diagnostics);
  for (const OutputFile& file : files)
    if (!work.ok() || !work.write(file.name, file.text, diagnostics)) return false;
  if (const auto error = stage.rename_to(dir)) return refuse(dir, error.message(), diagnostics);
  return true;
}

// Removes a file, and those of its folders that are empty afterwards.
std::error_code remove_file(const std::string& dir, const std::string& file) {
  if (const auto error = fs::remove(joined(dir, file))) return error;
  const std::vector<std::string> folders = folders_of(file);
  for (const std::string& folder : llvm::reverse(folders))
    if (rmdir(joined(dir, folder).c_str()) != 0) break;
  return {};
}

// Everything that can fail for lack of space happens in the stage. While old and new files may both
// be there, the bundle's list names both. So the next renewal knows the files that an interrupted
// one has left.
bool renew(const std::string& dir, const Found& found, const std::vector<OutputFile>& files,
           Diagnostics& diagnostics) {
  Stage stage(joined(dir, ".tilepost"));
  if (const std::string why = stage.open(); !why.empty()) return refuse(dir, why, diagnostics);
  const WorkDir work(stage.path(), diagnostics);
  std::set<std::string> obsolete = found.list;
  std::string both = std::string(kBundleListHead) + "\n";
  std::vector<std::string> changed;
  for (const OutputFile& file : files) {
    obsolete.erase(file.name);
    if (text_of_file(joined(dir, file.name)) == file.text) continue;
    if (!work.ok() || !work.write(file.name, file.text, diagnostics)) return false;
    if (file.name != kBundleList) changed.push_back(file.name);
  }
  for (const OutputFile& file : files) both += file.name + "\n";
  for (const std::string& file : obsolete) both += file + "\n";
  if (!work.write("both.list", both, diagnostics)) return false;

  const std::string list = joined(dir, kBundleList);
  std::error_code error = fs::rename(work.path("both.list"), list);
  for (const std::string& file : changed) {
    const std::string place = joined(dir, file);
    if (!error)
      error = fs::create_directories(llvm::sys::path::parent_path(place), true, fs::all_all);
    if (!error) error = fs::rename(work.path(file), place);
  }
  for (const std::string& file : obsolete)
    if (!error) error = remove_file(dir, file);
  for (const OutputFile& file : files)
    if (!error && file.name == kBundleList && text_of_file(list) != file.text) {
      if (!work.write("new.list", file.text, diagnostics)) return false;
      error = fs::rename(work.path("new.list"), list);
    }
  return error ? refuse(dir, error.message(), diagnostics) : true;
}

}  // namespace

bool write_bundle(const std::string& dir, const std::vector<OutputFile>& files,
                  Diagnostics& diagnostics) {
  llvm::SmallString<256> path(dir);
  if (fs::exists(dir)) {
    if (const auto error = fs::real_path(dir, path))
      return refuse(dir, error.message(), diagnostics);
  } else if (const auto error = fs::make_absolute(path)) {
    return refuse(dir, error.message(), diagnostics);
  }
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::string folder = path.str().str();

  Found found;
  if (!look_at(folder, found, diagnostics)) return false;
  if (!found.bundle) return make_new(folder, files, diagnostics);
  return check_ways(folder, found, files, diagnostics) && renew(folder, found, files, diagnostics);
}

}  // namespace tilepost
