// Epochs: a group's counter grows by its target in every eager run and is never reset, so run
// number e may use the group's data once the counter has reached e * target. Both wrap at 2^32 and
// are compared by their signed distance, as cuStreamWaitValue32's GEQ does.
#pragma once

#include <cstdint>

namespace tilepost::cuda {

// What the counter reads when run number `epoch` has posted all of the group.
constexpr uint32_t epoch_target(uint32_t epoch, uint32_t target) {
  return epoch * target;
}

// True when `counter` has reached `target`; correct while the two are less than 2^31 apart.
constexpr bool reached(uint32_t counter, uint32_t target) {
  return static_cast<int32_t>(counter - target) >= 0;
}

// How many signals of run `epoch` have come in, at most `target`.
constexpr uint32_t signals_of_run(uint32_t counter, uint32_t epoch, uint32_t target) {
  const auto arrived = static_cast<int32_t>(counter - epoch_target(epoch - 1, target));
  if (arrived < 0) return 0;
  return arrived > static_cast<int32_t>(target) ? target : static_cast<uint32_t>(arrived);
}

}  // namespace tilepost::cuda
