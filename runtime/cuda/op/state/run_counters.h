// The counters of an operation's groups, and the page on which the device reports to the host what
// it waits for.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/cuda/watch/counter_access.h"
#include "runtime/cuda/watch/watch_page.h"
#include "tilepost/tilepost.h"

namespace tilepost::cuda {

class RunCounters {
 public:
  // Makes the counters for runs of up to `most_groups` groups, zeroed on `stream`.
  tilepost_result_t create(int most_groups, cudaStream_t stream);

  WatchPage* page() const { return static_cast<WatchPage*>(watch_memory_.get()); }
  uint32_t* bank(Bank which) const {
    return static_cast<uint32_t*>(counters_.get()) + which * words();
  }
  // Adds what create(most_groups) allocates, and what this object has allocated.
  static void add_needs(int most_groups, tilepost_memory_t& memory);
  void add_memory(tilepost_memory_t& memory) const;

  // Reads and sets the groups' counters of one bank while the device is stuck (CounterAccess). Any
  // thread may call.
  std::vector<uint32_t> read(Bank which) { return access_.read(bank(which)); }
  void write(Bank which, const std::vector<uint32_t>& values) {
    access_.write(bank(which), values);
  }

  // Leaves the memory to the process, for after a failure from which the device has not recovered.
  void leak();

 private:
  static size_t bank_words(int most_groups) {
    return most_groups * static_cast<size_t>(TILEPOST_COUNTER_STRIDE);
  }
  size_t words() const { return bank_words(most_groups_); }
  // The bytes of all counters on the device.
  static size_t bytes_of(int most_groups) {
    return kBanks * bank_words(most_groups) * sizeof(uint32_t);
  }

  int most_groups_ = 0;
  DeviceMemory counters_;  // [bank][group * TILEPOST_COUNTER_STRIDE]
  PinnedMemory watch_memory_;
  CounterAccess access_;
};

}  // namespace tilepost::cuda
