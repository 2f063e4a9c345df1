// A rank of soak.cpp: a thread or a process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/gpu/trust/meeting.h"

namespace gpu_test {

struct SoakOptions {
  std::string mode;                                 // mixed, graph, sweep or cycles
  std::vector<const tilepost_program_t*> programs;  // for as many ranks each
  int64_t runs;                                     // mixed: in all; graph, cycles: per program
  double seconds;                                   // begins nothing later
  Clock::time_point begin = Clock::now();           // of the driver, by which time is up
  double deadline;
  bool on_one_gpu;
  uint32_t seed;
  uint32_t delay_us;  // mixed: before every second run, at most
  int most_operations;
  std::vector<int64_t> rows;  // sweep
  double shared;              // of the operations that may share their memory
  bool ordered;               // streams follow each other
  bool threads;               // ranks have one memory and are not to allocate beside another's run
};

// The current device is the rank's. Ends the process with 1 and the seed where something is wrong.
void soak(const SoakOptions& options, int rank, Meeting& meeting);

}  // namespace gpu_test
