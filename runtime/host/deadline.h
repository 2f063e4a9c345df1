// A deadline: the point in time after which a wait gives up, or none.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>

namespace tilepost {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  // `seconds` from now; 0 means never.
  explicit Deadline(double seconds) : seconds_(seconds) {
    if (seconds > 0)
      time_ = Clock::now() +
              std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  // A text such as "0.5 s".
  std::string text() const {
    char text[32];
    std::snprintf(text, sizeof text, "%g s", seconds_);
    return text;
  }
  bool passed() const { return seconds_ > 0 && Clock::now() >= time_; }

  // Waits until `ready` holds. Returns false if the deadline passes first.
  template <class Ready>
  bool wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
            Ready ready) const {
    if (seconds_ > 0) return changed.wait_until(lock, time_, ready);
    changed.wait(lock, ready);
    return true;
  }

 private:
  double seconds_;
  Clock::time_point time_;
};

}  // namespace tilepost
