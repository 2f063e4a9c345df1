// Measures PyTorch's fused operations at the same points. A Python of the user's runs a script that
// the tool carries (runtime/bench/async_tp.py).
#pragma once

#include <string>
#include <vector>

#include "generator/bench/records.h"
#include "generator/harness/programs.h"
#include "generator/harness/work_dir.h"

namespace tilepost {

// One run of the script: everything that one command line can ask for.
struct TorchRun {
  tilepost_pattern_t pattern;
  int ranks;
  tilepost_dtype_t type;
  std::vector<std::string> shapes;  // "8192x8192x2048", each once
};

// The runs for those programs for which PyTorch has operations of its own: gemm_reduce_scatter,
// all_gather_gemm, and gemm_all_reduce as a GEMM before PyTorch's AllReduce operations. Input and
// output of such a program have the same type, its layout is tn, it has no epilogue, no consumer
// but unpermute, and at most `gpus` ranks.
std::vector<TorchRun> torch_runs(const std::vector<HarnessProgram>& programs, int gpus);

// Adds the script's results for `run` to every program that the run is about: as the mode "torch"
// and, for few rows, also as "torch graph". The variants are "fused" and "sequence", and for
// AllReduce "one_shot" and "two_shot" too. A point without a time gives a note. Returns false if
// `json` is not a file of the script.
bool take_torch(llvm::StringRef json, const TorchRun& run,
                const std::vector<HarnessProgram>& programs, BenchLog& log);

// Measures PyTorch for all these programs with the Python `python`. Where this fails, the program
// gets a note with the reason.
void measure_torch(const std::string& python, int rounds, uint64_t seed,
                   const std::vector<HarnessProgram>& programs, int gpus, const WorkDir& dir,
                   BenchLog& log, Progress& progress);

}  // namespace tilepost
