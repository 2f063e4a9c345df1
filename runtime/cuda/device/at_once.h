// Works on several items at the same time.
#pragma once

#include <exception>
#include <thread>
#include <vector>

#include "runtime/cuda/device/resources.h"

namespace tilepost::cuda {

// Calls body(item) for every item, each call on a thread of its own, and returns when all calls
// have returned. Where the system has no more threads or memory, the calling thread handles the
// items that are left, one after the other.
template <class Items, class Body>
void for_all_at_once(const Items& items, Body body) {
  std::vector<std::thread> threads;
  for (const auto& item : items) {
    const auto work = [&body, &item] {
      const CaptureModeGuard relaxed;
      body(item);
    };
    try {
      threads.emplace_back(work);
    } catch (const std::exception&) {
      work();
    }
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tilepost::cuda
