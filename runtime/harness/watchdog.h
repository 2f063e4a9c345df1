// The last resort against a hang. The runtime's own deadlines should end every wait before the
// watchdog acts.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace tilepost::harness {

class Watchdog {
 public:
  Watchdog();
  ~Watchdog();

  // From now on, the watchdog prints `line` and ends the process with status 1 if neither alive()
  // nor disarm() is called for `seconds`.
  void arm(double seconds, std::string line);
  void alive();
  void disarm();

 private:
  void watch();

  std::mutex mutex_;
  std::condition_variable changed_;
  bool armed_ = false, stop_ = false;
  std::chrono::steady_clock::duration patience_{};
  std::chrono::steady_clock::time_point deadline_;
  std::string line_;
  std::thread thread_;
};

}  // namespace tilepost::harness
