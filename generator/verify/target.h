// Where the programs will run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generator/harness/machine.h"
#include "generator/harness/programs.h"
#include "generator/verify/verify.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {

struct TargetChoice {
  bool cuda = false;
  int sm = 0;            // cuda: compute capability of the GPUs
  CudaTools tools;       // cuda
  std::string compiler;  // host
};

// Picks the target. Where GPUs were not asked for and cannot serve, says why in a line on `out`.
// Nothing, with the reason reported, if the target asked for or its compiler is missing.
std::optional<TargetChoice> choose_target(const std::vector<HarnessProgram>& programs,
                                          VerifyTarget target, llvm::raw_ostream& out,
                                          Diagnostics& diagnostics);

}  // namespace tilepost
