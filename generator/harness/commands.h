// Runs compiler commands side by side.
#pragma once

#include <string>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/harness/progress.h"

namespace tilepost {

struct Command {
  std::vector<std::string> argv;
  std::string log;     // file that takes its output
  double seconds = 0;  // deadline
  // Of a compiler: what it reads, and what it makes. It lists the headers in `object` + ".d".
  std::string source{}, object{};
};

// Runs at most `jobs` at a time; 0: one per core. At the first that fails, exceeds its deadline or
// cannot start, stops the others, shows its output and reports it. False then, and when
// interrupted.
bool run_commands(const std::vector<Command>& commands, int jobs, const std::string& what,
                  Progress& progress, Diagnostics& diagnostics);

// A word as a shell reads it, quoted where it must be.
std::string shell_word(const std::string& word);

// The commands as a shell script. It runs in the folder where it lies, wherever that was moved to:
// `folder`, the absolute path of the working folder, is nowhere in it.
std::string shell_script(const std::vector<Command>& commands, const std::string& folder);

}  // namespace tilepost
