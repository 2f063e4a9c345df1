// `tilepost verify`: generate, compile, run on random data, compare with an independent reference.
//
// The checks themselves are in runtime/verify/: a harness that the tool carries as source, compiles
// with this machine's compiler together with the runtime and the generated programs, and runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/harness/sweep.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {

enum class VerifyTarget { automatic, cuda, host };

struct VerifyOptions {
  VerifyTarget target = VerifyTarget::automatic;
  std::vector<Sweep> sweeps;      // the Cartesian product of all, for every spec
  uint64_t seed = 1;              // of the random data
  int runs = 3;                   // of the exact check, back to back
  std::vector<int64_t> run_rows;  // of plans for any m, each a run; empty: the harness's choice
  std::string keep_dir;           // where to leave sources and harness; empty: a temporary folder
  int jobs = 0;                   // compilers at a time; 0: one per core
  bool no_run = false;            // compile into keep_dir, for GPUs that need not be here
  std::string cache_dir;          // keeps the compiled runtime for the next run; empty: not
};

// The result of a verification, for programs.
struct VerifyReport {
  std::string target;                // "cuda", "host"; empty: none was chosen
  std::string target_reason;         // why the host, where GPUs were not excluded
  std::vector<std::string> lines;    // one for each check: "ok …", "FAIL …" or "skip …"
  int passed = 0, failed = 0;        // checks
  std::vector<std::string> not_run;  // kernels of the user's own that gemm_host stood in for
  std::string summary;               // the last line: "PASS: 1 plan, 4 runs, seed 1, 12.1 s"
};

// Verifies every input under every combination of the sweeps. Prints a line per check and a last
// line "PASS: …", "NOT RUN: …" or "FAIL: …" to `out`, progress to standard error. Returns the exit
// code: 0 all checks passed, 1 a spec was rejected, something needed is missing or a check failed,
// 3 the working folder could not be written, 4 all checks passed, but not with the user's own
// kernel.
int verify(const std::vector<Input>& inputs, const VerifyOptions& options, llvm::raw_ostream& out,
           VerifyReport& report, Diagnostics& diagnostics);

}  // namespace tilepost
