// The course of `tilepost tune`, without what it measures with.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generator/bench/records.h"
#include "generator/harness/gpus.h"
#include "generator/harness/machine.h"
#include "generator/harness/programs.h"
#include "generator/tune/tune.h"

namespace tilepost {

// What is measured: one spec at one shape on the architecture that this machine runs.
struct TuneCase {
  std::string title;  // "attn_out at 8192x8192x2048"
  std::shared_ptr<const Machine> machine;
  SpecOfInput read;
  TuningKey key;
  std::string spec_name;  // file name of the spec
};

// Reads all cases. Reports every case that this machine cannot measure; then there are none.
std::vector<TuneCase> read_cases(const std::vector<Case>& cases, const Gpus& gpus,
                                 Diagnostics& diagnostics);

// How long and with which outputs plans are measured.
struct TuneRun {
  double seconds;   // until the last record, compilers included
  bool registered;  // whether outputs are registered
  size_t number;    // of the case, from 0
};

// Builds a harness of programs and runs it. Tests have another one.
class TuneRunner {
 public:
  enum class Result { ran, failed, not_written };

  virtual ~TuneRunner() = default;
  // Puts the harness's records into `log`. Failed: the reason was reported, or the user
  // interrupted.
  virtual Result run(const std::vector<HarnessProgram>& programs, const TuneRun& run, BenchLog& log,
                     Progress& progress, Diagnostics& diagnostics) = 0;
};

// Measures the cases, as tune() says.
int tune_cases(const std::vector<TuneCase>& cases, const TuneOptions& options,
               const std::string& gpu, TuneRunner& runner, TuningFile& file,
               const TuningStore& store, llvm::raw_ostream& out, Diagnostics& diagnostics);

}  // namespace tilepost
