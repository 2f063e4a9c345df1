// Measures plans on this machine's GPUs.
#pragma once

#include "generator/bench/target.h"
#include "generator/tune/tune_cases.h"

namespace tilepost {

class GpuRunner final : public TuneRunner {
 public:
  GpuRunner(const BenchTarget& target, const TuneOptions& options)
      : target_(target), options_(options) {}

  Result run(const std::vector<HarnessProgram>& programs, const TuneRun& run, BenchLog& log,
             Progress& progress, Diagnostics& diagnostics) override;

 private:
  const BenchTarget& target_;
  const TuneOptions& options_;
};

}  // namespace tilepost
