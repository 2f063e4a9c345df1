// The harness's command line. It is called by `tilepost verify` and, with --keep, by hand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilepost::verify {

struct HarnessOptions {
  uint64_t seed = 1;
  int runs = 3;            // of the exact check
  double deadline = 0;     // seconds for every wait; 0: 20 s and what the work may take
  std::vector<int64_t> m;  // of the runs of plans for any m; empty: where tiles and shares end
  std::string only;        // name of the one program to check; empty: all
};

// Returns false, having printed why, if an argument is wrong.
bool parse_harness_options(int argc, char** argv, HarnessOptions& options);

}  // namespace tilepost::verify
