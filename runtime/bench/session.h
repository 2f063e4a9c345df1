// What the measurements of all programs share: the harness's command line, the machine, a sign of
// life. The harness is called by `tilepost bench` and, with --keep, by hand.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/bench/gpu/machine.h"

namespace tilepost::bench {

struct HarnessOptions {
  uint64_t seed = 1;
  int rounds = 50;
  bool cool = true, sustained = true;  // which modes
  bool lent_output = false;  // operations that lend memory for their output are given it as out
  bool registered = false;   // outputs are registered where the operation has a use for it
  std::string only;          // name of the one program to measure; empty: all
};

// Returns false, having printed why, if an argument is wrong.
bool parse_harness_options(int argc, char** argv, HarnessOptions& options);

struct Session {
  const Machine& machine;
  const Nvml& nvml;
  const HarnessOptions& options;
  std::function<void()> alive;  // called at least every few seconds
};

}  // namespace tilepost::bench
