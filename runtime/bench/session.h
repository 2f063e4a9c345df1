// What the measurements of all programs share: the harness's command line, the machine, and a sign
// of life. `tilepost bench` calls the harness; with --keep it can also be run by hand.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/bench/gpu/machine.h"

namespace tilepost::bench {

struct HarnessOptions {
  uint64_t seed = 1;
  int rounds = 50;
  bool cool = true, sustained = true;  // the modes to measure in
  bool lent_output = false;  // if an operation lends memory for its output, it is given that memory
                             // as out
  bool registered = false;   // outputs are registered, if the operation has a use for that
  std::string only;          // name of the only program to measure; empty: all
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
