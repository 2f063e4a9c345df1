// The error that ended an operation. The thread that meets it records it once, and every later
// caller gets it.
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

  // Fails with the recorded error, as this thread's last error. Requires is_set().
  tilepost_result_t report() const { return fail(result_, "%s", text_.c_str()); }

  // Fails with TILEPOST_ABORTED, quoting the recorded error, for calls that come after it.
  tilepost_result_t refuse() const {
    return fail(TILEPOST_ABORTED, "the communicator was aborted, make a new one; the reason: %s",
                text_.c_str());
  }

 private:
  std::atomic<bool> set_ = false;
  std::mutex mutex_;
  tilepost_result_t result_ = TILEPOST_OK;  // result_ and text_ never change once set_ is true
  std::string text_;
};

}  // namespace tilepost::cuda
