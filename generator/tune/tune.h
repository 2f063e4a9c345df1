// `tilepost tune`: measures the planner's most promising plans of each spec and shape on this
// machine, and keeps the fastest in a tuning file, for --tuning.
//
// The measurements themselves are in runtime/bench/ranks/tune_bench.h, a part of the harness of
// `tilepost bench`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "generator/harness/sweep.h"
#include "generator/plan/tuning/entry.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {

inline constexpr int kMostCandidates = 64;
inline constexpr int kLeastSeconds = 10, kMostSeconds = 3600;

struct TuneOptions {
  std::vector<Shape> shapes;  // each for every spec; none: the spec's own
  size_t candidates = 10;     // plans to measure of each spec and shape
  double seconds = 60;        // for each spec and shape, compilers included
  bool again = false;         // whether what the file has is measured again
  bool graph = false;         // whether replays of CUDA graphs are measured, not single runs
  uint64_t seed = 1;          // of the random data and orders
  std::string keep_dir;       // where to leave sources and harnesses; empty: temporary folders
  int jobs = 0;               // compilers at a time; 0: one per core
  std::string cache_dir;      // keeps the compiled runtime for the next run; empty: not
};

// Where the file goes. Both return false after an error that they report.
struct TuningStore {
  std::function<bool()> can_write;  // asked once, before anything is measured
  std::function<bool()> write;      // after each spec and shape
};

// Measures every input at every shape, and stores `file` after each that is new in it. Prints what
// was measured to `out`, and progress to standard error. Returns the exit code: 0 `file` has all, 1
// a spec was rejected, something needed is missing, a result was wrong or nothing could be
// measured, 3 `file` or a working folder could not be written.
int tune(const std::vector<Input>& inputs, const TuneOptions& options, TuningFile& file,
         const TuningStore& store, llvm::raw_ostream& out, Diagnostics& diagnostics);

}  // namespace tilepost
