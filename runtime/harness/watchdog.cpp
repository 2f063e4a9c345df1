#include "runtime/harness/watchdog.h"

#include <cstdio>
#include <cstdlib>

namespace tilepost::harness {

using Clock = std::chrono::steady_clock;

Watchdog::Watchdog() : thread_(&Watchdog::watch, this) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::arm(double seconds, std::string line) {
  const std::lock_guard lock(mutex_);
  armed_ = true;
  patience_ = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  deadline_ = Clock::now() + patience_;
  line_ = std::move(line);
  changed_.notify_all();
}

// The watching thread reads the later deadline when it wakes at the earlier one.
void Watchdog::alive() {
  const std::lock_guard lock(mutex_);
  deadline_ = Clock::now() + patience_;
}

void Watchdog::disarm() {
  const std::lock_guard lock(mutex_);
  armed_ = false;
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (!armed_) {
      changed_.wait(lock);
    } else if (changed_.wait_until(lock, deadline_) == std::cv_status::timeout && armed_ &&
               Clock::now() >= deadline_) {
      std::puts(line_.c_str());
      std::fflush(stdout);
      std::_Exit(1);
    }
  }
}

}  // namespace tilepost::harness
