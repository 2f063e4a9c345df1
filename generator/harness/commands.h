// Runs compiler commands side by side.
#pragma once

#include <string>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/harness/progress.h"

namespace tilepost {

struct Command {
  std::vector<std::string> argv;
  std::string log;     // the file for its output
  double seconds = 0;  // how long it may run
  // For a compiler: the file that it reads and the one that it makes. The compiler lists the
  // headers that it read in `object` + ".d".
  std::string source{}, object{};
};

// Runs at most `jobs` at a time; 0: one per core. When one fails, exceeds its deadline or cannot
// start, stops the others, shows its output, reports it and returns false. Also returns false when
// interrupted.
bool run_commands(const std::vector<Command>& commands, int jobs, const std::string& what,
                  Progress& progress, Diagnostics& diagnostics);

// A word as a shell reads it, quoted where it must be.
std::string shell_word(const std::string& word);

// The commands as a shell script. It runs in the folder where it lies, wherever that was moved to:
// `folder`, the absolute path of the working folder, is nowhere in it.
std::string shell_script(const std::vector<Command>& commands, const std::string& folder);

}  // namespace tilepost
