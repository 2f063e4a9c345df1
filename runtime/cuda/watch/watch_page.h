// The pages of pinned host memory that the device and the watchdog share.
//
// The device reports: which group it has come to, a wait whose deadline passed, what it waits for
// from other ranks, replays of captured graphs begun and ended. The host says one thing: stop
// waiting. Every word has one writer. Device code writes with .sys scope; the host reads through
// the accessors below.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/cuda/shared/open_wait.h"

namespace tilepost::cuda {

// Eager runs never reset their counters; captured runs reset theirs. So each has
// counters and a page of its own, and the two can be mixed.
enum Bank : int { kEager = 0, kCaptured = 1, kBanks = 2 };

// A wait that gave up, one per group and bank. The host says what is waited for when it issues the
// wait, the device adds the rest.
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

}  // namespace tilepost::cuda
