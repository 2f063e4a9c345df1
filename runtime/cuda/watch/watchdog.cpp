#include "runtime/cuda/watch/watchdog.h"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

namespace tilepost::cuda {
namespace {

using namespace std::chrono_literals;

// How often a watchdog looks within a deadline. So it notices a missed deadline at most this
// fraction of the deadline late.
constexpr double kPeriodsPerDeadline = 50;
constexpr std::chrono::nanoseconds kShortestPeriod = 1ms, kLongestPeriod = 100ms;
constexpr auto kRetirePatience = 2s;

// The running watchdogs of this process.
struct Running {
  std::mutex mutex;
  std::set<Watchdog*> all;
  pid_t process = 0;  // the process that has registered retire_all()
};

// It is never destroyed, because functions that std::exit() calls may run after static objects are
// gone.
Running& running() {
  static auto* const instance = new Running;
  return *instance;
}

// A forked process has none of the threads, and perhaps a locked mutex.
void retire_all() {
  Running& watchdogs = running();
  if (watchdogs.process != getpid()) return;
  const std::lock_guard lock(watchdogs.mutex);
  for (Watchdog* watchdog : watchdogs.all) watchdog->retire();
}

void add(Watchdog* watchdog) {
  Running& watchdogs = running();
  const std::lock_guard lock(watchdogs.mutex);
  watchdogs.all.insert(watchdog);
  if (watchdogs.process != getpid() && std::atexit(retire_all) == 0) watchdogs.process = getpid();
}

void remove(Watchdog* watchdog) {
  Running& watchdogs = running();
  const std::lock_guard lock(watchdogs.mutex);
  watchdogs.all.erase(watchdog);
}

}  // namespace

void Watchdog::start(int device, double deadline_seconds, std::function<Found()> observe) {
  if (deadline_seconds == 0) return;
  device_ = device;
  observe_ = std::move(observe);
  const std::chrono::duration<double> period(deadline_seconds / kPeriodsPerDeadline);
  period_ = std::clamp(std::chrono::duration_cast<std::chrono::nanoseconds>(period),
                       kShortestPeriod, kLongestPeriod);
  thread_ = std::thread([this] { watch(); });
  add(this);
}

void Watchdog::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  if (asleep_) changed_.notify_all();
}

void Watchdog::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
  remove(this);
}

void Watchdog::retire() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, kRetirePatience, [this] { return !observing_; });
}

// The first look is a period after the call that woke this thread. A run that has just been issued
// has hardly begun, and looking takes locks of CUDA's that the thread which issues runs takes too.
// So calls that follow each other wake this thread once in a period.
void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  bool idle = true, has_device = false;
  while (!stopping_) {
    asleep_ = idle;
    if (idle) changed_.wait(lock, [this] { return stopping_ || woken_; });
    asleep_ = false;
    changed_.wait_for(lock, period_, [this] { return stopping_; });
    woken_ = false;
    if (stopping_) return;
    observing_ = true;
    lock.unlock();
    if (!has_device) cudaSetDevice(device_);
    has_device = true;
    const Found found = observe_();
    lock.lock();
    observing_ = false;
    changed_.notify_all();
    idle = found == Found::idle;
    if (found == Found::over) return;
  }
}

}  // namespace tilepost::cuda
