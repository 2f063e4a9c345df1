// The pages of pinned host memory that the device and the watchdog share.
//
// A rank that shares memory with others waits for them on the device (runtime/cuda/shared/flags.h).
// Each of the waits that may be open at the same time has a place of its own in the page. A wait
// that takes long reports itself there before its deadline. So the watchdog can name the wait,
// whichever of the two gives up first.
//
// The device reports which group it has reached, a wait whose deadline has passed, what it waits
// for from other ranks, and the replays of captured graphs that have begun and ended. The host
// writes only one thing: that waits have to end. Every word has one writer. Device code writes with
// .sys scope. The host reads through the accessors below.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tilepost/internal/exchange_words.h"
#include "tilepost/internal/route_recipe.h"

namespace tilepost::cuda {

constexpr int kMostPeers = 64;  // the most ranks that share memory
constexpr int kMostLanes = 4;

// The kinds of announcements.
enum class Flag : int { block = 0, sums = 1 };
constexpr int kFlags = 2;

// The place of a wait. The device writes it, `state` last.
struct SharedWait {
  uint32_t state;   // WaitState
  uint32_t group;   // no meaning for the end or the beginning of a run
  uint32_t seen;    // the value that the word had
  uint32_t wanted;  // the value that the wait is for
};
enum WaitState : uint32_t { kNoWait = 0, kWaiting = kWaitIsOpen, kGaveUp = kWaitGaveUp };

// The words that ranks which share memory must have in common in a run.
struct RunWords {
  uint32_t m;         // the caller's m; 0 if rows are routed
  uint32_t schedule;  // RunMap::schedule_hash, folded
  uint32_t plan;      // hash_plan, folded, with the operation's number
  uint32_t output;    // RunTerms::output

  __host__ __device__ constexpr bool same_as(const RunWords& other) const {
    return m == other.m && schedule == other.schedule && plan == other.plan &&
           output == other.output;
  }
};
static_assert(sizeof(RunWords) == kRunWords * sizeof(uint32_t));

// A rank whose run differs from this rank's run. The device writes it, `found` last.
struct RunDifference {
  uint32_t found;  // not 0 if the rest is valid
  uint32_t rank;
  RunWords own, theirs;
};

// The places of waits, by kind and source rank. Waits for the tiles of groups share kMostPeers
// places, and so do waits for tasks of this rank's own kernel. That is enough because few groups
// have open waits at a time, and those are close together.
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

// Eager runs never reset their counters, but captured runs reset theirs. So each kind has its own
// counters, progress and wait records, and the two kinds can be mixed.
enum Bank : int { kEager = 0, kCaptured = 1, kBanks = 2 };

// A wait that gave up. There is a record for each group and bank. The host fills in what the wait
// is for when it issues the wait, and the device fills in the rest.
struct WaitRecord {
  uint32_t timed_out;  // written by the device
  uint32_t counter;    // written by the device: the counter's value
  uint32_t before;     // the counter's sum when the run was issued
  uint32_t target;     // what the run adds
  uint32_t groups;     // the number of the run's groups
  uint32_t spare;
  uint64_t run;  // number of the run
};

struct alignas(128) WatchPage {
  uint32_t abort;             // written by the host: not 0 if waiters must return at once
  uint32_t progress[kBanks];  // written by the device: the waits that are over, see progress_word()
  uint32_t replays_begun;     // written by the device
  uint32_t replays_ended;     // written by the device
  uint32_t replayed;          // written by the device: which captured run the last replay is of
  uint32_t stored;  // written by the device: how many groups of the run all ranks have stored, if
                    // the ranks' kernels store into each other's memory
  SharedWait shared[kSharedWaits];  // written by the device
  RunDifference difference;         // written by the device
  RowsFault rows_fault;             // written by the device
};

// What marks the begin of a captured run, on the device (replay.cuh). It counts the replay, records
// which captured run it is of, and resets its progress and the counters of `groups` groups, if
// there are any.
struct ReplayBeginning {
  bool counts = false;  // false: nothing is marked
  uint32_t which = 0;
  uint32_t* counters = nullptr;
  int groups = 0;
};

// The bytes of a page and of its groups' wait records, which follow the page: [bank][group].
constexpr size_t watch_page_bytes(int num_groups) {
  return sizeof(WatchPage) + sizeof(WaitRecord) * kBanks * static_cast<size_t>(num_groups);
}
inline WaitRecord* wait_records(WatchPage* page, Bank bank, int num_groups) {
  return reinterpret_cast<WaitRecord*>(page + 1) + bank * static_cast<ptrdiff_t>(num_groups);
}

// The progress word counts, modulo 2^32, the groups that the communication stream has reached:
// waits that are over, or arrivals. `before`: the groups of all earlier runs, 0 for a captured run.
constexpr uint32_t progress_word(uint32_t before, int group) {
  return before + static_cast<uint32_t>(group) + 1;
}

// How many groups of a run were passed, from 0 to num_groups.
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

// A wait that is still open, for the host.
enum class Awaited { block, sums, ended, stored, added, landed, begun, received, taken };
struct OpenWait {
  Awaited what;
  bool gave_up;
  int group;               // no meaning for `ended` and `begun`
  std::vector<int> ranks;  // ranks that did not come; empty for `stored` and `landed`, which do not
                           // distinguish ranks, and for `added`, which is this rank's own
  uint32_t missing;  // `stored`: signals; `added`, `landed`, and `stored` of rows: chunks of tasks
};

// Finds the first of the open waits among `waits` [kSharedWaits]: one that gave up, if any did, and
// of several the one for the earliest group.
std::optional<OpenWait> find_open_wait(const SharedWait* waits);

}  // namespace tilepost::cuda
