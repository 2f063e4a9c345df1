// The harness's command line. `tilepost verify` calls the harness. With --keep it can also be run
// by hand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilepost::verify {

struct HarnessOptions {
  uint64_t seed = 1;
  int runs = 3;            // the number of runs of the exact check
  double deadline = 0;     // seconds for every wait; 0: 20 s, plus the time that the work may take
  std::vector<int64_t> m;  // numbers of rows, for plans for any m; empty: the numbers at which
                           // tiles and shares end
  std::string only;        // the name of the only program to check; empty: check all programs
};

// Returns false if an argument is wrong, after printing the reason.
bool parse_harness_options(int argc, char** argv, HarnessOptions& options);

}  // namespace tilepost::verify
