// Runs a harness and passes its lines on as they come.
#pragma once

#include <string>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/harness/progress.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {

// How a harness ended.
struct HarnessEnd {
  bool ended = false;    // whether by itself, with exit status 0 or 1
  int exit_status = -1;  // where `ended`
  std::string end;       // in words: "exit status 0", "signal 11 (Segmentation fault)"
};

struct HarnessResult : HarnessEnd {
  int passed = 0;                  // "ok" lines
  int failed = 0;                  // "FAIL" lines
  std::vector<std::string> lines;  // these lines and others that were shown
};

// Runs argv and calls take(line) for every line it prints. Kills the program if it prints nothing
// for `idle_seconds`, or when interrupted.
HarnessEnd run_lines(const std::vector<std::string>& argv, double idle_seconds,
                     llvm::function_ref<void(llvm::StringRef)> take);

// The harness of `tilepost verify`: its lines "ok …", "FAIL …" and "skip …" go to `out`, "# …" are
// signs of life.
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
