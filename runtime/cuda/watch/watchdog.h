// A thread that observes an operation's runs until it is stopped. So a run that hangs is ended at
// its deadline, even if no thread queries its status. The thread sleeps while nothing is in flight.
//
// At the end of the process CUDA is unloaded while threads still run. So a function that
// std::exit() calls stops all watchdogs first. It is registered after CUDA's own function, and
// therefore called before it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace tilepost::cuda {

class Watchdog {
 public:
  // The results of observing. idle: nothing is in flight, and nothing begins by itself. busy:
  // something is or may be in flight. over: all runs have ended for good.
  enum class Found { idle, busy, over };

  Watchdog() = default;
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() { stop(); }

  // Starts the thread, which has `device` current and calls `observe` several times within the
  // deadline. Without a deadline it starts no thread.
  void start(int device, double deadline_seconds, std::function<Found()> observe);
  // Called when a run has been issued.
  void wake();
  void stop();

  // For the end of the process. After it no call of `observe` begins any more, and a call that was
  // under way has returned unless it takes too long.
  void retire();

 private:
  void watch();

  int device_ = 0;
  std::function<Found()> observe_;
  std::chrono::nanoseconds period_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false, asleep_ = false, woken_ = false, observing_ = false;
  std::thread thread_;
};

}  // namespace tilepost::cuda
