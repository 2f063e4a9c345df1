// What is the same for all runs of an operation, as far as those that watch the runs need it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/cuda/watch/run_board.h"
#include "tilepost/plan.h"

namespace tilepost::cuda {

// Set up once, in create().
struct RunTraits {
  int device = 0, rank = 0;
  double deadline_seconds = 0;  // 0 = none
  bool stream_waits = false;    // streams wait for counters: cuStreamWaitValue32
  bool gathers = false;         // the collective comes before the GEMM
  bool tiles_from_all = false;  // of runs that overlap: all ranks store what this one waits for
  bool kernel_waits = false;    // of runs that overlap: the GEMM's own warps wait for tiles
  bool holds_sms = false;       // of runs that overlap: RunPath::waits_on_sms
  const char* collective = "";
  const tilepost_plan_t* plan = nullptr;
  int most_groups = 0;              // of any run
  RunBoard* board = nullptr;        // null where ranks do not see what the others call
  size_t range = 0;                 // number of this plan in the caller's operation (ranges.h)
  std::vector<uint32_t> own_words;  // of all its plans, in shared memory (OpFamily::words)
};

}  // namespace tilepost::cuda
