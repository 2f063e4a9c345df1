// The common code of kernels that announce to other ranks and that wait for their announcements.
#pragma once

#include "runtime/cuda/shared/flags.h"
#include "runtime/cuda/watch/polling.cuh"

namespace tilepost::cuda {

__device__ __forceinline__ uint32_t* own_flags(const SharedFlags& flags) {
  return flags.of[flags.rank];
}

// A wait that has given up keeps its run under way until the host has seen the report.
__device__ inline void stay_for_host(const WatchPage* page) {
  const uint64_t start = ptx::global_time_ns();
  while (ptx::load_relaxed_sys(&page->abort) == 0 &&
         ptx::global_time_ns() - start < kStayNanoseconds)
    ptx::sleep_ns(kStayPollNanoseconds);
}

// Reports to the host what a wait for a number is for, has seen and needs. The state is stored
// last.
__device__ inline void tell_host(SharedWait* place, WaitState state, int group, uint32_t seen,
                                 uint32_t wanted) {
  place->group = static_cast<uint32_t>(group);
  place->seen = seen;
  place->wanted = wanted;
  publish(&place->state, state);
}

__device__ __forceinline__ bool is_given_up(const SharedFlags& flags) {
  return *static_cast<const volatile uint32_t*>(flags.given_up) != 0;
}

// Waits until one of this rank's flags has reached `target`, and acquires what was released with
// it. Returns false if the wait was given up. Nothing may be announced then, or the other ranks
// would take data that is not there and end their run with it. `is_here(value)` says whether the
// word has come so far. `place` reports the wait to the host, and `seen()` is what it has seen. The
// host needs only the first wait that was given up, so
// later waits give up at once.
template <class Seen, class IsHere>
__device__ __forceinline__ bool wait_for(const SharedFlags& flags, const uint32_t* word,
                                         uint32_t target, SharedWait* place, int group,
                                         const Seen& seen, const IsHere& is_here) {
  if (is_given_up(flags)) return false;
  bool told = false;
  const auto tell = [&](WaitState state) {
    tell_host(place, state, group, seen(), target);
    told = true;
  };
  // Polling orders nothing, and one acquire comes behind it (polling.cuh).
  const PollEnd end = poll_until([&] { return is_here(ptx::load_relaxed_sys(word)); },
                                 flags.deadline_ns, flags.page,
                                 [&] {
                                   if (!told) tell(kWaiting);
                                 });
  if (end == PollEnd::late) {
    tell(kGaveUp);
    stay_for_host(flags.page);
  }
  if (end != PollEnd::reached) {
    *static_cast<volatile uint32_t*>(flags.given_up) = 1;
    return false;
  }
  ptx::load_acquire_sys(word);
  if (told) publish(&place->state, kNoWait);
  return true;
}

// The same, where what the word holds is what has been seen.
__device__ inline bool wait_for(const SharedFlags& flags, const uint32_t* word, uint32_t target,
                                SharedWait* place, int group) {
  return wait_for(
      flags, word, target, place, group, [&] { return ptx::load_relaxed_sys(word); },
      [&](uint32_t value) { return has_reached(value, target); });
}

// The same for a flag of a part, which holds the number of the last run in which it was raised, and
// is compared for equality (flag_to_renew). It is reported as one signal that is missing.
__device__ __forceinline__ bool wait_for_run(const SharedFlags& flags, const uint32_t* flag,
                                             uint32_t run, SharedWait* place) {
  return wait_for(
      flags, flag, run, place, 0, [run] { return run - 1; },
      [run](uint32_t value) { return value == run; });
}

}  // namespace tilepost::cuda
