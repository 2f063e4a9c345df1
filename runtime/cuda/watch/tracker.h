// The eager runs in flight. An event where each begins and one where it ends tell the host when a
// run started, and when it finished.
//
// One thread issues runs; the watchdog and status() look. Events are made once and used in turn.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include "runtime/cuda/device/resources.h"

namespace tilepost::cuda {

class RunTracker {
 public:
  using Clock = std::chrono::steady_clock;
  // Enough to keep a GPU busy, few enough that the runs' commands fit CUDA's launch queue.
  static constexpr int kMaxInFlight = 32;

  tilepost_result_t create();

  // For the issuing thread: the events of the next run. The caller records them where the run
  // begins and ends, and then calls commit(). A run that fails in between is not committed.
  // Requires has_room().
  bool has_room();
  cudaEvent_t begin_event() const { return slots_[next_].begin.get(); }
  cudaEvent_t end_event() const { return slots_[next_].end.get(); }
  // For a run that ends apart: recorded where ranks have compared what the run was, when its output
  // is there already. The run counts as in flight until then.
  cudaEvent_t apart_event() const { return slots_[next_].apart.get(); }
  void commit(uint64_t run, bool apart = false);

  // Whether any run has not been seen to end.
  bool has_any() const;
  // Whether the run of this number, or one before it, has not been seen to end.
  bool is_in_flight(uint64_t run);

  // The end of the run committed last, or null before the first.
  cudaEvent_t last_end() const { return last_end_; }

  struct Oldest {
    uint64_t run = 0;
    bool started = false;     // its stream has come to it
    Clock::time_point since;  // when it was first seen started
  };
  // Drops the runs that have finished. The oldest run that has not, if any, goes to `oldest`.
  tilepost_result_t observe(std::optional<Oldest>& oldest);

 private:
  struct Slot {
    Event begin, end, apart;
    bool ends_apart = false;
    Oldest run;
  };

  mutable std::mutex mutex_;  // guards head_, count_ and the runs
  std::array<Slot, kMaxInFlight> slots_;
  int head_ = 0, count_ = 0;
  int next_ = 0;  // (head_ + count_) % kMaxInFlight, for the issuing thread
  cudaEvent_t last_end_ = nullptr;
};

}  // namespace tilepost::cuda
