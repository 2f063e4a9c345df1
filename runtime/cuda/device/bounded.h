// Bounds the time of calls of other libraries that may never return. CUDA and NCCL free memory, and
// so wait for all work on the device, even for work that no abort of ours can end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/cuda/device/resources.h"

namespace tilepost::cuda {

// Calls body() on a thread of its own. Returns false if body() has not returned after `patience`.
// body() then continues on its thread, so it has to own all that it works with. Where the system
// has no more threads or memory, the calling thread calls body(), and there is no bound.
template <class Body>
bool returns_within(std::chrono::duration<double> patience, Body body) {
  struct End {
    std::mutex mutex;
    std::condition_variable came;
    bool is_here = false;
  };
  std::shared_ptr<End> end;
  try {
    end = std::make_shared<End>();
    const auto work = [end, body] {
      {
        const CaptureModeGuard relaxed;
        body();
      }
      const std::lock_guard lock(end->mutex);
      end->is_here = true;
      end->came.notify_all();
    };
    std::thread(work).detach();
  } catch (const std::exception&) {
    const CaptureModeGuard relaxed;
    body();
    return true;
  }
  std::unique_lock lock(end->mutex);
  return end->came.wait_for(lock, patience, [&] { return end->is_here; });
}

}  // namespace tilepost::cuda
