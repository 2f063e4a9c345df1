// Counting without resets. In every eager run a group's counter grows by what the run's tiles add
// to it. The host keeps the sum of what all runs so far add. A run may use the group's data once
// the counter has reached the sum that includes this run. Sums wrap at 2^32 and are compared by
// their signed distance, as cuStreamWaitValue32's GEQ does.
#pragma once

#include <cstdint>

namespace tilepost::cuda {

// Whether `counter` has reached `target`. The answer is right while the two are less than 2^31
// apart.
constexpr bool reached(uint32_t counter, uint32_t target) {
  return static_cast<int32_t>(counter - target) >= 0;
}

// How many signals of a run have come, at most `target`. `before`: the counter's sum when the run
// was issued.
constexpr uint32_t signals_of_run(uint32_t counter, uint32_t before, uint32_t target) {
  const auto arrived = static_cast<int32_t>(counter - before);
  if (arrived < 0) return 0;
  return static_cast<uint32_t>(arrived) > target ? target : static_cast<uint32_t>(arrived);
}

}  // namespace tilepost::cuda
