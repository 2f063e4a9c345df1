// A thread that observes an operation's runs until it is stopped, so that a run that hangs is ended
// at its deadline whether or not anybody asks for its status. It sleeps while nothing is in flight.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "runtime/cuda/op/run_state.h"

namespace tilepost::cuda {

class Watchdog {
 public:
  Watchdog() = default;
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() { stop(); }

  // Starts the thread; without a deadline there is nothing to watch for, and no thread.
  void start(RunState& state);
  // A run has been issued.
  void wake();
  void stop();

 private:
  void watch();

  RunState* state_ = nullptr;
  std::chrono::nanoseconds period_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false, asleep_ = false, woken_ = false;
  std::thread thread_;
};

}  // namespace tilepost::cuda
