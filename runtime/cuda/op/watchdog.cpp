#include "runtime/cuda/op/watchdog.h"

#include <algorithm>

namespace tilepost::cuda {
namespace {

using namespace std::chrono_literals;

// A deadline is noticed at most this much late, relative to its length.
constexpr double kPeriodsPerDeadline = 50;
constexpr std::chrono::nanoseconds kShortestPeriod = 1ms, kLongestPeriod = 100ms;

}  // namespace

void Watchdog::start(RunState& state) {
  if (state.deadline_seconds == 0) return;
  state_ = &state;
  const std::chrono::duration<double> period(state.deadline_seconds / kPeriodsPerDeadline);
  period_ = std::clamp(std::chrono::duration_cast<std::chrono::nanoseconds>(period),
                       kShortestPeriod, kLongestPeriod);
  thread_ = std::thread([this] { watch(); });
}

void Watchdog::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  if (asleep_) changed_.notify_one();
}

void Watchdog::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
  }
  thread_.join();
}

void Watchdog::watch() {
  cudaSetDevice(state_->device);
  std::unique_lock lock(mutex_);
  bool idle = true;
  while (!stopping_) {
    asleep_ = idle;
    if (idle)
      changed_.wait(lock, [this] { return stopping_ || woken_; });
    else
      changed_.wait_for(lock, period_, [this] { return stopping_; });
    asleep_ = woken_ = false;
    if (stopping_) return;
    lock.unlock();
    const tilepost_result_t result = state_->observe();
    lock.lock();
    // Replays begin without a call of ours, so once a run has been captured there is no sleeping.
    idle = result == TILEPOST_OK && !state_->captured;
    if (result != TILEPOST_OK && result != TILEPOST_IN_PROGRESS) return;
  }
}

}  // namespace tilepost::cuda
