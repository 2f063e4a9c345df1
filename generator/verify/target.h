// Chooses where programs run: on GPUs or on the host target.
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
  CudaTools tools;                    // cuda: what compiles and links
  std::vector<std::string> compiler;  // host: the words that begin the compiler's commands
  std::string reason;                 // host: why GPUs cannot be used; "" if the host was asked for
};

// Picks the target. If the target that is asked for or its compiler is missing, reports why and
// returns nothing. `elsewhere`: whether the programs will run on another machine. GPUs need not be
// here then, and are taken to be of the first program's newest architecture.
std::optional<TargetChoice> choose_target(const std::vector<HarnessProgram>& programs,
                                          VerifyTarget target, bool elsewhere,
                                          Diagnostics& diagnostics);

}  // namespace tilepost
