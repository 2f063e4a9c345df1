// How far long work has come, on standard error: one rewritten line on a terminal, else a line
// every few seconds, if there is something new.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace tilepost {

class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // "tilepost: compiling 12/30"
  void update(std::string_view what, size_t done, size_t total);

  // Removes the line from a terminal, before other output.
  void clear();

 private:
  const bool terminal_;
  bool shown_ = false;
  std::string text_;  // the text that was printed last
  std::chrono::steady_clock::time_point last_;
};

}  // namespace tilepost
