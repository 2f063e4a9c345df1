// `tilepost bench`: how fast the plans are on this machine: their GEMMs beside cuBLASLt, operations
// of several ranks beside cuBLASLt and NCCL in sequence, and beside PyTorch's fused ones.
//
// The measurements themselves are in runtime/bench/: a harness that the tool carries as source,
// compiles with this machine's compiler together with the runtime, the generated programs and the
// un-woven templates, and runs once for all points.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/harness/sweep.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/bench/experts/load_names.h"

namespace tilepost {

enum class BenchMode { cool, sustained, both };

inline constexpr int kMaxRounds = 100000;

struct BenchOptions {
  std::vector<Shape> shapes;  // each for every spec; none: the spec's own
  std::vector<Sweep> sweeps;  // the Cartesian product of all, for every spec and shape
  BenchMode mode = BenchMode::both;
  bool lent_output = false;            // use memory that an operation lends for its output as out
  std::string load = kExpertLoads[0];  // one of kExpertLoads
  bool registered = false;             // register outputs with operations that can use this
  int rounds = 50;
  uint64_t seed = 1;      // of the random data and orders
  std::string torch;      // a Python with PyTorch, to measure its fused operations; empty: none
  std::string keep_dir;   // where to leave sources and harness; empty: a temporary folder
  bool no_run = false;    // compile into keep_dir, for GPUs that need not be here
  std::string from;       // measure nothing: what a harness that no_run compiled has printed
  int jobs = 0;           // compilers at a time; 0: one per core
  std::string cache_dir;  // keeps the compiled runtime for the next run; empty: not
  bool draws = false;     // also make the picture
};

// The texts of files beside the table.
struct BenchFiles {
  std::string json, svg;
};

// Measures every input at every shape and combination of the sweeps. Prints the table to `out` and
// progress to standard error; `files` become the same as JSON and, if it is asked for, as a
// picture; both are "" if nothing was run. Returns the exit code: 0 all was measured, 1 a spec was
// rejected, something needed is missing, a result was wrong or a measurement failed, 3 the working
// folder could not be written.
int bench(const std::vector<Input>& inputs, const BenchOptions& options, llvm::raw_ostream& out,
          BenchFiles& files, Diagnostics& diagnostics);

}  // namespace tilepost
