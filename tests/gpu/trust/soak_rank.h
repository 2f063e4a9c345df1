// A rank of soak.cpp: a thread or a process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/gpu/trust/meeting.h"

namespace gpu_test {

struct SoakOptions {
  std::string mode;                                 // mixed, graph, sweep or cycles
  std::vector<const tilepost_program_t*> programs;  // all with the same number of ranks
  int64_t runs;                            // mixed: of all programs; graph, cycles: of each program
  double seconds;                          // nothing begins later
  Clock::time_point begin = Clock::now();  // of the driver; `seconds` count from it
  double deadline;
  bool on_one_gpu;
  uint32_t seed;
  uint32_t delay_us;  // mixed: the most before every second run
  int most_operations;
  std::vector<int64_t> rows;  // sweep
  double shared;              // the part of operations that share memory, of those that may
  bool ordered;               // whether streams follow each other
  bool threads;  // whether ranks are threads, which must not allocate beside another rank's run
};

// The current device must be the rank's. On a failure it ends the process with exit code 1 and
// prints the seed.
void soak(const SoakOptions& options, int rank, Meeting& meeting);

}  // namespace gpu_test
