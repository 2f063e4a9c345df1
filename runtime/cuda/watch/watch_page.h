// The pages of pinned host memory that the device and the watchdog share.
//
// A rank that shares memory with others waits for them on the device (runtime/cuda/shared/flags.h).
// Everything that can be waited for at the same time has a place of its own in the page. A wait
// that takes long says so before its deadline. So the watchdog can name the wait, whichever of the
// two loses patience first.
//
// The device reports which group it has come to, a wait whose deadline has passed, what it waits
// for from other ranks, and the replays of captured graphs that have begun and ended. The host says
// one thing: stop waiting. Every word has one writer. Device code writes with .sys scope; the host
// reads through the accessors below.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tilepost/internal/exchange_words.h"

namespace tilepost::cuda {

constexpr int kMostPeers = 64;  // ranks that share memory
constexpr int kMostLanes = 4;

// What a rank announces to the others.
enum class Flag : int { block = 0, sums = 1 };
constexpr int kFlags = 2;

// The place of a wait. The device writes it; `state` last.
struct SharedWait {
  uint32_t state;   // WaitState
  uint32_t group;   // not for the end or beginning of a run
  uint32_t seen;    // what the word read
  uint32_t wanted;  // what was waited for
};
enum WaitState : uint32_t { kNoWait = 0, kWaiting = kWaitIsOpen, kGaveUp = kWaitGaveUp };

// What ranks that share memory must have in common in a run.
struct RunWords {
  uint32_t m;         // as the caller says; 0 where rows are routed
  uint32_t schedule;  // RunMap::schedule_hash, folded
  uint32_t plan;      // hash_plan, folded, with the operation's number
  uint32_t output;    // RunTerms::output

  __host__ __device__ constexpr bool same_as(const RunWords& other) const {
    return m == other.m && schedule == other.schedule && plan == other.plan &&
           output == other.output;
  }
};
static_assert(sizeof(RunWords) == kRunWords * sizeof(uint32_t));

// A rank whose run differs from this rank's. The device writes it; `found` last.
struct RunDifference {
  uint32_t found;  // not 0: the rest is there
  uint32_t rank;
  RunWords own, theirs;
};

// Places of waits, by what is waited for and from which rank. Waits for the tiles of groups share
// kMostPeers places, and so do waits for what tasks of this rank's own kernel make of them: few
// groups are awaited at a time, and those are close together.
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
__host__ __device__ constexpr int begun_wait(int source) {
  return (kFlags * kMostLanes + 3) * kMostPeers + source;
}
constexpr int kSharedWaits = (kFlags * kMostLanes + 4) * kMostPeers;

// Eager runs never reset their counters; captured runs reset theirs. So each kind has counters,
// progress and wait records of its own, and the two can be mixed.
enum Bank : int { kEager = 0, kCaptured = 1, kBanks = 2 };

// A wait that gave up; there is a record for each group and bank. The host says what is waited for
// when it issues the wait, and the device adds the rest.
struct WaitRecord {
  uint32_t timed_out;  // device
  uint32_t counter;    // device: what the counter read
  uint32_t before;     // the counter's sum when the run was issued
  uint32_t target;     // what the run adds
  uint32_t groups;     // of the run
  uint32_t spare;
  uint64_t run;  // number of the run
};

struct alignas(128) WatchPage {
  uint32_t abort;             // host: waiters return at once
  uint32_t progress[kBanks];  // device: waits passed, see progress_word()
  uint32_t replays_begun;     // device
  uint32_t replays_ended;     // device
  uint32_t replayed;          // device: which captured run the last replay is of
  uint32_t stored;  // device: groups of the run whose tiles all ranks have stored, where the ranks'
                    // kernels store into each other's memory
  SharedWait shared[kSharedWaits];  // device
  RunDifference difference;         // device
};

// Bytes of a page and its groups' wait records, which follow it: [bank][group].
constexpr size_t watch_page_bytes(int num_groups) {
  return sizeof(WatchPage) + sizeof(WaitRecord) * kBanks * static_cast<size_t>(num_groups);
}
inline WaitRecord* wait_records(WatchPage* page, Bank bank, int num_groups) {
  return reinterpret_cast<WaitRecord*>(page + 1) + bank * static_cast<ptrdiff_t>(num_groups);
}

// The progress word counts, modulo 2^32, the groups that the communication stream has come to:
// waits that are over, or arrivals. `before`: those of all earlier runs, 0 for a captured run.
constexpr uint32_t progress_word(uint32_t before, int group) {
  return before + static_cast<uint32_t>(group) + 1;
}

// Groups of a run passed, from 0 to num_groups.
constexpr int groups_passed(uint32_t progress, uint32_t before, int num_groups) {
  const auto passed = static_cast<int32_t>(progress - before);
  return passed < 0 ? 0 : passed > num_groups ? num_groups : passed;
}

inline uint32_t load(const uint32_t& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}
inline void store(uint32_t& word, uint32_t value) {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}

// A wait that is not over, for the host.
enum class Awaited { block, sums, ended, stored, added, landed, begun };
struct OpenWait {
  Awaited what;
  bool gave_up;
  int group;               // not for `ended` and `begun`
  std::vector<int> ranks;  // that did not come; empty for `stored` and `landed`, which do not tell
                           // them apart, and for `added`, which is this rank's own
  uint32_t missing;  // `stored`: signals; `added`, `landed`, and `stored` rows: chunks of tasks
};

// The first of the waits [kSharedWaits] that are not over: one that gave up, if any did, and of
// several the one for the earliest group.
std::optional<OpenWait> find_open_wait(const SharedWait* waits);

}  // namespace tilepost::cuda
