// PyTorch's fused operations at the same points, measured by a script that the tool carries
// (runtime/bench/async_tp.py) in a Python of the user's.
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

// The runs of those programs for which PyTorch has operations of its own: gemm_reduce_scatter,
// all_gather_gemm, and gemm_all_reduce as a GEMM before PyTorch's AllReduce operations. Their types
// have 16 bits, their layout is tn, they have no epilogue and no consumer but unpermute, and at
// most `gpus` ranks.
std::vector<TorchRun> torch_runs(const std::vector<HarnessProgram>& programs, int gpus);

// Adds what the script wrote for `run` to every program that it is about, as modes "torch" and, of
// few rows, "torch graph" with the variants "fused" and "sequence", for AllReduce "one_shot" and
// "two_shot" too, or as a note where there is no time. Returns false if `json` is none of its
// files.
bool take_torch(llvm::StringRef json, const TorchRun& run,
                const std::vector<HarnessProgram>& programs, BenchLog& log);

// Measures all these programs with the Python `python`. What could not be measured becomes notes of
// the programs.
void measure_torch(const std::string& python, int rounds, uint64_t seed,
                   const std::vector<HarnessProgram>& programs, int gpus, const WorkDir& dir,
                   BenchLog& log, Progress& progress);

}  // namespace tilepost
