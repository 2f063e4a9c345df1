// What the measurements of all programs share: the harness's command line, the machine, and a sign
// of life. `tilepost bench` runs the harness. With `tilepost bench --keep` it can also be run by
// hand afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/bench/experts/load.h"
#include "runtime/bench/gpu/machine.h"

namespace tilepost::bench {

struct HarnessOptions {
  uint64_t seed = 1;
  int rounds = 50;
  bool cool = true, sustained = true;  // the modes to measure
  bool lent_output = false;  // Whether an operation that lends memory for its output gets that
                             // memory as out.
  bool registered = false;   // whether outputs are registered, if the operation has a use for that
  ExpertLoad load = ExpertLoad::random;  // how tokens are spread over experts
  bool tune = false;    // whether the programs are plans of one operation (tune_bench.h)
  bool graph = false;   // tune: whether replays of graphs are measured, not single runs
  double seconds = 20;  // tune: the time for rounds
  std::string only;     // the name of the only program to measure; empty for all
};

// Returns false, after printing the reason, if an argument is wrong.
bool parse_harness_options(int argc, char** argv, HarnessOptions& options);

struct Session {
  const Machine& machine;
  const Nvml& nvml;
  const HarnessOptions& options;
  std::function<void()> alive;  // called at least every few seconds
};

}  // namespace tilepost::bench
