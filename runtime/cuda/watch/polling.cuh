// How kernels wait for a word, and report to the host.
#pragma once

#include <cstdint>

#include "runtime/cuda/watch/watch_page.h"
#include "tilepost/device/ptx.cuh"

namespace tilepost::cuda {

// Reading the abort word crosses PCIe, but the word that a kernel waits for is in its GPU's memory.
// So the kernel reads the abort word, and the clock, only about ten times a millisecond.
constexpr int kPollsPerCheck = 512;
constexpr unsigned kPollNanoseconds = 32;

// Whether `value` has reached `target`, by signed distance as in epoch.h.
__device__ __forceinline__ bool has_reached(uint32_t value, uint32_t target) {
  return static_cast<int32_t>(value - target) >= 0;
}

// Stores a word for the host, after everything that this thread stored before.
__device__ __forceinline__ void publish(uint32_t* word, uint32_t value) {
  __threadfence_system();
  *static_cast<volatile uint32_t*>(word) = value;
}

struct Poll {
  const uint32_t* word;
  uint32_t target;
  uint64_t deadline_ns;  // 0 = none
  const WatchPage* page;
};
enum class PollEnd { reached, aborted, late };

// Polls until is_reached() is true, the host stores the abort word or the deadline has passed (0:
// none). `waiting()` is called every so often meanwhile.
template <class IsReached, class Waiting>
__device__ __forceinline__ PollEnd poll_until(IsReached is_reached, uint64_t deadline_ns,
                                              const WatchPage* page, Waiting waiting) {
  const uint64_t start = ptx::global_time_ns();
  for (;;) {
    for (int i = 0; i < kPollsPerCheck; ++i) {
      if (is_reached()) return PollEnd::reached;
      ptx::sleep_ns(kPollNanoseconds);
    }
    if (ptx::load_relaxed_sys(&page->abort) != 0) return PollEnd::aborted;
    waiting();
    if (deadline_ns != 0 && ptx::global_time_ns() - start >= deadline_ns) return PollEnd::late;
  }
}

// Polls like poll_until(), until the word has reached the target. It orders no memory accesses:
// polling with relaxed loads, and one acquire afterwards, costs one invalidation of L1 instead of
// one for each poll.
template <class Waiting>
__device__ __forceinline__ PollEnd poll(const Poll& args, Waiting waiting) {
  return poll_until([&] { return has_reached(ptx::load_relaxed_sys(args.word), args.target); },
                    args.deadline_ns, args.page, waiting);
}

}  // namespace tilepost::cuda
