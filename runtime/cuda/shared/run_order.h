// What operations of a communicator have in common so that their runs keep out of each other's way:
// an order, and a flag for failures.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "runtime/cuda/device/resources.h"

namespace tilepost::cuda {

// Set when an operation has failed that others have to do with. Read by any thread.
using AbortedFlag = std::shared_ptr<std::atomic<bool>>;

// Runs that follow each other on a device, in the order of the host's calls, which is the same on
// all ranks: those whose kernels wait inside for other ranks', for side by side one could hold the
// SMs here that the other waits for there; and those that use the same memory
// (runtime/cuda/shared/arena.h). Eager runs only; a captured one is ordered by where its graph is
// launched.
class RunOrder {
 public:
  // Before the others; more than once does nothing.
  tilepost_result_t create() {
    const std::lock_guard lock(mutex_);
    return last_.get() != nullptr ? TILEPOST_OK : make_event(last_);
  }
  // What comes on `stream` follows the last such run.
  tilepost_result_t follow(cudaStream_t stream) {
    const std::lock_guard lock(mutex_);
    TILEPOST_CUDA(cudaStreamWaitEvent(stream, last_.get(), 0));
    return TILEPOST_OK;
  }
  // Such a run has been put on `stream`.
  tilepost_result_t add(cudaStream_t stream) {
    const std::lock_guard lock(mutex_);
    TILEPOST_CUDA(cudaEventRecord(last_.get(), stream));
    return TILEPOST_OK;
  }

 private:
  std::mutex mutex_;
  Event last_;
};

}  // namespace tilepost::cuda
