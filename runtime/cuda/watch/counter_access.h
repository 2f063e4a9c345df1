// Reads and writes the counters while the device is stuck, by copies on a stream of their own. The
// time of a copy is bounded. Any thread may call.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime/cuda/device/resources.h"

namespace tilepost::cuda {

class CounterAccess {
 public:
  tilepost_result_t create(int num_groups);
  // The bytes of pinned memory that create(num_groups) allocates.
  static int64_t bytes_of(int num_groups);

  // The groups' counters of one bank. Empty if the copy did not finish in time.
  std::vector<uint32_t> read(const uint32_t* bank);

  // All words of as many lines as there are groups, TILEPOST_COUNTER_STRIDE words each. Empty if
  // the copy did not finish in time.
  std::vector<uint32_t> read_lines(const uint32_t* lines);

  // Words that lie side by side, one for each group. Empty if the copy did not finish in time.
  std::vector<uint32_t> read_words(const uint32_t* words);

  // Sets the groups' counters of one bank, so that waits for them end. Because this matters, an
  // earlier copy that did not finish in time gets some more time. If it still does not finish,
  // nothing is written.
  void write(uint32_t* bank, const std::vector<uint32_t>& values);

  // The bytes of pinned memory that it has.
  int64_t pinned_bytes() const { return mirror_.bytes(); }

  // Leaves its memory to the process, because a copy may still be under way.
  void leak() { mirror_.leak(); }

  // Waits until `stream` has no work left, within the bound. Returns false if it still has work
  // then.
  static bool drain(cudaStream_t stream);

 private:
  bool copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);

  std::mutex mutex_;
  int num_groups_ = 0;
  Stream stream_;
  PinnedMemory mirror_;
  bool stuck_ = false;
};

}  // namespace tilepost::cuda
