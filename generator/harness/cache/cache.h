// Objects of the sources that every harness has (the runtime, and the harness itself), kept between
// runs.
//
// An entry is one file, which holds the objects of one set of commands. An entry is used only if
// everything that went into the objects is the same: the sources, the commands, the compiler, the
// variables that compilers read, and the bytes of every header outside the working folder that the
// compiler says it read. A new entry is written beside its place and renamed, so any number of
// processes may use one folder at once.
#pragma once

#include <string>
#include <vector>

#include "generator/harness/commands.h"
#include "generator/harness/work_dir.h"

namespace tilepost {

// How many entries a folder keeps. The least recently used ones are removed.
inline constexpr size_t kCacheEntries = 8;

// "$XDG_CACHE_HOME/tilepost", else "$HOME/.cache/tilepost"; "" where neither is an absolute path.
std::string default_cache_folder();

// The objects of one set of commands, each of which compiles a source of the working folder.
class CachedObjects {
 public:
  // `folder`: of the cache; "": nothing is kept and nothing is found.
  CachedObjects(const std::string& folder, const std::vector<Command>& commands,
                const WorkDir& dir);

  // Puts all objects into the working folder; false if they must be compiled. A damaged entry is
  // reported and is not used.
  bool restore(Diagnostics& diagnostics) const;

  // Keeps the objects that the commands have made. If that fails, only warns.
  void store(Diagnostics& diagnostics) const;

 private:
  const std::vector<Command>& commands_;
  const WorkDir& dir_;
  std::string entry_;  // the file; "": not to be kept
};

}  // namespace tilepost
