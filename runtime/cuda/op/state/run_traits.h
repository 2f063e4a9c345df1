// The properties that all runs of an operation share, as far as those who watch the runs need them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/cuda/watch/run_board.h"
#include "tilepost/plan.h"

namespace tilepost::cuda {

// Set up once, in create().
struct RunTraits {
  const char* program = "";  // its name
  int device = 0, rank = 0;
  double deadline_seconds = 0;  // 0 if there is none
  bool stream_waits = false;    // whether streams wait for counters: cuStreamWaitValue32
  bool gathers = false;         // whether the collective comes before the GEMM
  bool tiles_from_all = false;  // runs that overlap: whether all ranks store what this rank waits
                                // for
  bool kernel_waits = false;    // runs that overlap: whether the GEMM's own warps wait for tiles
  bool holds_sms = false;       // runs that overlap: RunPath::waits_on_sms
  const char* collective = "";
  const tilepost_plan_t* plan = nullptr;
  int most_groups = 0;              // the most groups of any run
  RunBoard* board = nullptr;        // null if ranks do not see each other's calls
  size_t range = 0;                 // the number of this plan in the caller's operation (ranges.h)
  std::vector<uint32_t> own_words;  // the words of all plans of the caller's operation, in shared
                                    // memory (OpFamily::words)
};

}  // namespace tilepost::cuda
