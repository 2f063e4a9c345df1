// Where the programs will run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generator/harness/machine.h"
#include "generator/harness/programs.h"
#include "generator/verify/verify.h"

namespace tilepost {

struct TargetChoice {
  bool cuda = false;
  int sm = 0;                         // cuda: compute capability of the GPUs
  CudaTools tools;                    // cuda
  std::vector<std::string> compiler;  // host: the words that begin its commands
  std::string reason;                 // host: why not GPUs, where they were not excluded
};

// Picks the target. Nothing, with the reason reported, if the one asked for or its compiler is
// missing. `elsewhere`: the programs will run on another machine, so GPUs need not be here; they
// are what the specs' newest architecture says.
std::optional<TargetChoice> choose_target(const std::vector<HarnessProgram>& programs,
                                          VerifyTarget target, bool elsewhere,
                                          Diagnostics& diagnostics);

}  // namespace tilepost
