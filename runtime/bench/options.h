// The harness's command line. It is called by `tilepost bench` and, with --keep, by hand.
#pragma once

#include <cstdint>
#include <string>

namespace tilepost::bench {

struct HarnessOptions {
  uint64_t seed = 1;
  int rounds = 50;
  bool cool = true, sustained = true;  // which modes
  bool lent_output = false;  // operations that lend memory for their output are given it as out
  std::string only;          // name of the one program to measure; empty: all
};

// Returns false, having printed why, if an argument is wrong.
bool parse_harness_options(int argc, char** argv, HarnessOptions& options);

}  // namespace tilepost::bench
