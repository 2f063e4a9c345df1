// The eager runs in flight. By an event where each run begins and one where it ends, the host sees
// when a run started and when it finished.
//
// One thread issues runs. The watchdog and status() read. Events are made once and reused in turn.
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
  // This is enough to keep a GPU busy, and few enough that the runs' commands fit CUDA's launch
  // queue.
  static constexpr int kMaxInFlight = 32;

  tilepost_result_t create();

  // For the issuing thread: the events of the next run. The caller records them where the run
  // begins and ends, and then calls commit(). A run that fails in between is not committed.
  // Requires has_room().
  bool has_room();
  cudaEvent_t begin_event() const { return slots_[next_].begin.get(); }
  cudaEvent_t end_event() const { return slots_[next_].end.get(); }
  // For a run that ends apart, after its output is complete. The event is recorded when ranks have
  // compared their runs. Until then the run counts as in flight.
  cudaEvent_t apart_event() const { return slots_[next_].apart.get(); }
  void commit(uint64_t run, bool apart = false);

  // Whether there is a run whose end was not seen yet.
  bool has_any() const;
  // Whether the end of run number `run`, or of a run before it, was not seen yet.
  bool is_in_flight(uint64_t run);

  // The end of the run that was committed last, or null before the first run.
  cudaEvent_t last_end() const { return last_end_; }

  struct Oldest {
    uint64_t run = 0;
    bool started = false;     // whether its stream has reached it
    Clock::time_point since;  // when it was first seen started
  };
  // Drops the runs that have finished. Sets `oldest` to the oldest run that has not, if any.
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
