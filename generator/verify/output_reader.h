// Runs the harness and passes its lines on as they come.
#pragma once

#include <string>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/verify/progress.h"

namespace tilepost {

struct HarnessResult {
  bool ended = false;     // by itself, with exit status 0 or 1
  int passed = 0;         // "ok" lines
  int failed = 0;         // "FAIL" lines
  std::string last_line;  // the last of either
  int exit_status = -1;   // where `ended`
  std::string end;        // in words: "exit status 0", "signal 11 (Segmentation fault)"
};

// Runs argv; its lines "ok …" and "FAIL …" go to `out`, "# …" are signs of life. Killed if it shows
// none for `idle_seconds`, or when interrupted.
HarnessResult run_harness(const std::vector<std::string>& argv, double idle_seconds,
                          llvm::raw_ostream& out, Progress& progress);

// Takes text as it arrives and calls back once per complete line.
class LineSplitter {
 public:
  template <class Take>
  void add(llvm::StringRef text, Take take) {
    rest_ += text;
    for (size_t end; (end = rest_.find('\n')) != std::string::npos; rest_.erase(0, end + 1))
      take(llvm::StringRef(rest_).take_front(end));
  }

 private:
  std::string rest_;
};

}  // namespace tilepost
