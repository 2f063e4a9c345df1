// Marks the begin and the end of a captured run for the host, which watches replays that are under
// way. Kernels that begin or end a run do that beside their other work.
#pragma once

#include "runtime/cuda/watch/polling.cuh"
#include "tilepost/plan.h"

namespace tilepost::cuda {

// All threads of a warp, each with its number there. One fence serves all words, because the host
// reads the others only after the number of the replay.
__device__ __forceinline__ void begin_replay(WatchPage* page, const ReplayBeginning& replay,
                                             int lane) {
  constexpr int kLanes = 32;
  for (int group = lane; group < replay.groups; group += kLanes)
    replay.counters[group * TILEPOST_COUNTER_STRIDE] = 0;
  if (lane != 0) return;
  const uint32_t begun = page->replays_begun + 1;
  *static_cast<volatile uint32_t*>(&page->replayed) = replay.which;
  *static_cast<volatile uint32_t*>(&page->progress[kCaptured]) = 0;
  publish(&page->replays_begun, begun);
}

// The number to pass to end_replay(). Reading it crosses PCIe, so that it is read early.
__device__ __forceinline__ uint32_t replays_begun(const WatchPage* page) {
  return *static_cast<const volatile uint32_t*>(&page->replays_begun);
}

// One thread.
__device__ __forceinline__ void end_replay(WatchPage* page, uint32_t begun) {
  *static_cast<volatile uint32_t*>(&page->replays_ended) = begun;
}

}  // namespace tilepost::cuda
