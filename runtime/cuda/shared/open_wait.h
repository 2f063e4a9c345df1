// What a rank waits for from the ranks it shares memory with (runtime/cuda/shared/flags.h), told to
// the host: a place in the page for everything that can be waited for at a time. A wait that
// takes long says so before its deadline, so that the watchdog can name it whoever is first to lose
// patience.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tilepost::cuda {

constexpr int kMostPeers = 64;  // ranks that share memory
constexpr int kMostLanes = 4;

// What a rank announces to the others.
enum class Flag : int { block = 0, sums = 1 };
constexpr int kFlags = 2;

// A place. The device writes it; `state` last.
struct SharedWait {
  uint32_t state;   // WaitState
  uint32_t group;   // not for the end of a run
  uint32_t seen;    // what the word read
  uint32_t wanted;  // what was waited for
};
enum WaitState : uint32_t { kNoWait = 0, kWaiting = 1, kGaveUp = 2 };

// Places, by what is waited for and from whom. Groups whose tiles are awaited, or what tasks of
// this rank's own kernel make of them, share kMostPeers places: few are awaited at a time, and
// those are close together.
__host__ __device__ constexpr int flag_wait(Flag flag, int lane, int source) {
  return (static_cast<int>(flag) * kMostLanes + lane) * kMostPeers + source;
}
__host__ __device__ constexpr int ended_wait(int source) {
  return kFlags * kMostLanes * kMostPeers + source;
}
__host__ __device__ constexpr int stored_wait(int group) {
  return (kFlags * kMostLanes + 1) * kMostPeers + group % kMostPeers;
}
__host__ __device__ constexpr int added_wait(int group) {
  return (kFlags * kMostLanes + 2) * kMostPeers + group % kMostPeers;
}
constexpr int kSharedWaits = (kFlags * kMostLanes + 3) * kMostPeers;

// A wait that is not over, for the host.
enum class Awaited { block, sums, ended, stored, added, landed };
struct OpenWait {
  Awaited what;
  bool gave_up;
  int group;               // not for `ended`
  std::vector<int> ranks;  // that did not come; empty for `stored` and `landed`, which do not tell
                           // them apart, and for `added`, which is this rank's own
  uint32_t missing;  // `stored`: signals; `added`, `landed`, and `stored` rows: chunks of tasks
};

// The first of the waits [kSharedWaits] that are not over: one that gave up, if any did, and of
// several the one for the earliest group.
std::optional<OpenWait> find_open_wait(const SharedWait* waits);

}  // namespace tilepost::cuda
