// What marks the begin of a captured run, on the device (replay.cuh).
#pragma once

#include <cstdint>

namespace tilepost::cuda {

// Counts the replay, records which captured run it is of, and resets its progress and the counters
// of `groups` groups, if there are any.
struct ReplayBeginning {
  bool counts = false;  // false: nothing is marked
  uint32_t which = 0;
  uint32_t* counters = nullptr;
  int groups = 0;
};

}  // namespace tilepost::cuda
