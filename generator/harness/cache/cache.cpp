#include "generator/harness/cache/cache.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <set>

#include "generator/harness/cache/depfile.h"
#include "generator/harness/cache/key.h"
#include "generator/printable.h"
#include "generator/whole_files.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace tilepost {
namespace {

namespace fs = llvm::sys::fs;

constexpr const char* kSuffix = ".objects";
constexpr std::chrono::hours kTemporaryLife{1};

// An entry is a hash of the rest, then headers, then objects:
//   <hash>\n headers <count>\n <hash> <path>\n … objects <count>\n <bytes>\n<the bytes> …
// with the objects in the order of the commands.
struct Entry {
  std::vector<std::pair<std::string, std::string>> headers;  // hash, path
  std::vector<std::string> objects;
};

std::string to_text(const Entry& entry) {
  std::string text = fmt::format("headers {}\n", entry.headers.size());
  for (const auto& [hash, path] : entry.headers) text += hash + " " + path + "\n";
  text += fmt::format("objects {}\n", entry.objects.size());
  for (const std::string& object : entry.objects)
    text += fmt::format("{}\n", object.size()) + object;
  return hash_of(text) + "\n" + text;
}

// Takes "<word> <count>\n" or "<count>\n" off the text.
bool take_count(llvm::StringRef& text, llvm::StringRef word, size_t& count) {
  const auto [line, rest] = text.split('\n');
  llvm::StringRef number = line;
  text = rest;
  return number.consume_front(word) && !number.getAsInteger(10, count);
}

// Returns nothing if the text is not what to_text gave, to the byte.
std::optional<Entry> from_text(llvm::StringRef text) {
  Entry entry;
  const auto [hash, all] = text.split('\n');
  if (hash_of(all) != hash) return std::nullopt;
  llvm::StringRef rest = all;
  size_t count = 0;
  if (!take_count(rest, "headers ", count)) return std::nullopt;
  for (size_t i = 0; i < count && !rest.empty(); ++i) {
    const auto [line, after] = rest.split('\n');
    const auto [header_hash, path] = line.split(' ');
    entry.headers.emplace_back(header_hash.str(), path.str());
    rest = after;
  }
  if (!take_count(rest, "objects ", count)) return std::nullopt;
  for (size_t i = 0, bytes = 0; i < count; ++i) {
    if (!take_count(rest, "", bytes) || bytes > rest.size()) return std::nullopt;
    entry.objects.push_back(rest.take_front(bytes).str());
    rest = rest.drop_front(bytes);
  }
  return rest.empty() ? std::optional(entry) : std::nullopt;
}

// Every header outside the working folder with its hash. Returns nothing if it is not known which
// files a compiler read.
std::optional<Entry> collect(const std::vector<Command>& commands, const WorkDir& dir) {
  Entry entry;
  std::set<std::string> headers;
  for (const Command& command : commands) {
    const auto object = text_of_file(command.object), rule = text_of_file(command.object + ".d");
    if (!object || !rule) return std::nullopt;
    const std::vector<std::string> files = read_depfile(*rule);
    if (files.empty()) return std::nullopt;
    entry.objects.push_back(*object);
    headers.insert(files.begin(), files.end());
  }
  for (const std::string& path : headers) {
    if (llvm::StringRef(path).starts_with(dir.path() + "/")) continue;  // in the key
    const auto text = text_of_file(path);
    if (!text || !llvm::sys::path::is_absolute(path) || llvm::StringRef(path).contains('\n'))
      return std::nullopt;
    entry.headers.emplace_back(hash_of(*text), path);
  }
  return entry;
}

// Removes all but the newest entries, and temporary files that no process can still be writing.
void prune(const std::string& folder) {
  const auto now = std::chrono::system_clock::now();
  std::vector<std::pair<llvm::sys::TimePoint<>, std::string>> entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    fs::file_status status;
    if (fs::status(at->path(), status)) continue;
    const llvm::StringRef path = at->path();
    if (path.ends_with(kSuffix)) entries.emplace_back(status.getLastModificationTime(), path.str());
    if (path.ends_with(kTemporarySuffix) && now - status.getLastModificationTime() > kTemporaryLife)
      fs::remove(path);
  }
  llvm::sort(entries, [](const auto& x, const auto& y) { return x.first > y.first; });
  for (size_t i = kCacheEntries; i < entries.size(); ++i) fs::remove(entries[i].second);
}

std::error_code write_entry(const std::string& path, const std::string& text) {
  const std::string folder = llvm::sys::path::parent_path(path).str();
  if (const auto error = fs::create_directories(folder, true, fs::owner_all)) return error;
  TemporaryFile file;
  const auto error = write_temporary(path, text, fs::owner_read | fs::owner_write, file);
  return error ? error : file.rename();
}

}  // namespace

std::string default_cache_folder() {
  for (const auto& [name, below] :
       {std::pair("XDG_CACHE_HOME", "tilepost"), std::pair("HOME", ".cache/tilepost")}) {
    const char* value = std::getenv(name);
    if (value != nullptr && llvm::sys::path::is_absolute(value)) return joined(value, below);
  }
  return "";
}

CachedObjects::CachedObjects(const std::string& folder, const std::vector<Command>& commands,
                             const WorkDir& dir)
    : commands_(commands), dir_(dir) {
  if (folder.empty() || commands.empty()) return;
  llvm::SmallString<256> path(folder);
  if (fs::make_absolute(path)) return;
  const std::string key = cache_key(commands, dir);
  if (!key.empty()) entry_ = joined(path, key + kSuffix);
}

bool CachedObjects::restore(Diagnostics& diagnostics) const {
  const auto text = entry_.empty() ? std::nullopt : text_of_file(entry_);
  if (!text) return false;
  const std::optional<Entry> entry = from_text(*text);
  if (!entry || entry->objects.size() != commands_.size()) {
    diagnostics.warning(
        {}, "the objects kept in '" + printable(entry_) + "' are damaged: they are compiled again");
    return false;
  }
  for (const auto& [hash, path] : entry->headers) {
    const auto header = text_of_file(path);
    if (!header || hash_of(*header) != hash) return false;
  }
  for (size_t i = 0; i < commands_.size(); ++i) {
    const llvm::StringRef object = llvm::StringRef(commands_[i].object);
    if (!dir_.write(object.drop_front(dir_.path().size() + 1), entry->objects[i], diagnostics))
      return false;
  }
  utimes(entry_.c_str(), nullptr);  // prune() keeps entries that were used lately
  return true;
}

void CachedObjects::store(Diagnostics& diagnostics) const {
  if (entry_.empty()) return;
  const std::optional<Entry> entry = collect(commands_, dir_);
  if (!entry) return;
  if (const auto error = write_entry(entry_, to_text(*entry)))
    diagnostics.warning({}, fmt::format("the compiled runtime cannot be kept in '{}': {}; name "
                                        "another folder with --cache, or give --no-cache",
                                        printable(entry_), error.message()));
  else
    prune(llvm::sys::path::parent_path(entry_).str());
}

}  // namespace tilepost
