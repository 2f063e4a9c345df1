// The error that ended an operation: recorded once, by whichever thread meets it, and reported to
// every caller after that.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "runtime/core/error.h"

namespace tilepost::cuda {

class Failure {
 public:
  bool is_set() const { return set_.load(std::memory_order_acquire); }

  // Keeps the first failure. Returns false if there was one already.
  bool record(tilepost_result_t result, std::string text) {
    const std::lock_guard lock(mutex_);
    if (set_.load(std::memory_order_relaxed)) return false;
    result_ = result;
    text_ = std::move(text);
    set_.store(true, std::memory_order_release);
    return true;
  }

  // The recorded error, as this thread's. Requires is_set().
  tilepost_result_t report() const { return fail(result_, "%s", text_.c_str()); }

  // For calls that come too late: TILEPOST_ABORTED, quoting the recorded error.
  tilepost_result_t refuse() const {
    return fail(TILEPOST_ABORTED, "the communicator was aborted, make a new one; the reason: %s",
                text_.c_str());
  }

 private:
  std::atomic<bool> set_ = false;
  std::mutex mutex_;
  tilepost_result_t result_ = TILEPOST_OK;  // these two never change once set_ is true
  std::string text_;
};

}  // namespace tilepost::cuda
