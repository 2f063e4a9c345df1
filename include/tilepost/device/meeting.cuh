// How a kernel that exchanges tiles, or is a whole run (whole_run.cuh), meets the kernels of the
// other ranks: how it learns which run it is, what it waits for and how long, and what it reports
// to the host. exchange.cuh says why.
#ifndef TILEPOST_DEVICE_MEETING_CUH
#define TILEPOST_DEVICE_MEETING_CUH

#include <cstdint>

#include "tilepost/device/ptx.cuh"
#include "tilepost/internal/exchange_words.h"
#include "tilepost/plan.h"

namespace tilepost::woven {

constexpr int kHelperBarrier = 1;  // ptx::sync_threads: the helper warps
constexpr int kTeamBarrier = 2;    // the helper warps and the threads that join them

// ---- Waiting

// Reports a wait to the host, in one of the places of the host's page (SharedWait, watch_page.h).
// Writes the value that is waited for, one less as the value that was seen, and last the state.
inline __device__ __noinline__ void tell_wait(uint32_t* place, uint32_t state, uint32_t wanted) {
  volatile uint32_t* const words = place;
  words[1] = 0;  // the only group
  words[2] = wanted - 1;
  words[3] = wanted;
  __threadfence_system();
  words[0] = state;
}

// Whether a wait of this rank has given up. Then no other wait has to find that out for itself.
__device__ __forceinline__ bool is_given_up(const tilepost_exchange_t& exchange) {
  return *static_cast<const volatile uint32_t*>(exchange.given_up) != 0;
}

__device__ __forceinline__ void give_up(const tilepost_exchange_t& exchange) {
  *static_cast<volatile uint32_t*>(exchange.given_up) = 1;
}

// Keeps the run of a wait that has given up under way until the host has seen that.
inline __device__ __noinline__ void stay_for_host(const tilepost_exchange_t& exchange) {
  const uint64_t start = ptx::global_time_ns();
  while (ptx::load_relaxed_sys(exchange.abort) == 0 &&
         ptx::global_time_ns() - start < kStayNanoseconds)
    ptx::sleep_ns(kStayPollNanoseconds);
}

// The state of a wait. `start`: when the wait first called look_up, in nanoseconds of
// ptx::global_time_ns; 0: not yet. `told`: whether the wait was reported to the host. `over`:
// whether the wait is given up.
struct Patience {
  uint64_t start = 0;
  bool told = false, over = false;
};

// Called by a wait once in a few thousand polls, because reading the host's word crosses PCIe. The
// wait is over when the host or another wait has given up, or when the deadline has passed.
inline __device__ __noinline__ Patience look_up(const tilepost_exchange_t& exchange,
                                                uint32_t wanted, uint32_t* place,
                                                Patience patience) {
  patience.over = is_given_up(exchange);
  if (patience.over) return patience;
  if (patience.start == 0) patience.start = ptx::global_time_ns();
  const bool late =
      exchange.deadline_ns != 0 && ptx::global_time_ns() - patience.start >= exchange.deadline_ns;
  if (ptx::load_relaxed_sys(exchange.abort) == 0 && !late) {
    if (!patience.told) tell_wait(place, kWaitIsOpen, wanted);
    patience.told = true;
    return patience;
  }
  // All waits for parts share a place. A wait that ends clears the place, so waits that give up
  // have the next place.
  if (late) tell_wait(place == exchange.arrived_wait ? place + 4 : place, kWaitGaveUp, wanted);
  if (late) stay_for_host(exchange);
  give_up(exchange);
  patience.over = true;
  return patience;
}

// One thread. Waits until has_come(the word's value), and acquires what was released with that
// value. `wanted` and `place` are for the report to the host. Returns false if the wait was given
// up. Every poll acquires, which invalidates L1. Relaxed polls would need an acquiring load behind
// the last one, which takes as long as a poll.
template <class HasCome>
__device__ __forceinline__ bool await(const tilepost_exchange_t& exchange, const uint32_t* word,
                                      uint32_t wanted, uint32_t* place, HasCome has_come) {
  constexpr int kPollsPerCheck = 4096;
  Patience patience;
  for (int polls = 1; !has_come(ptx::load_acquire_sys(word)); ++polls) {
    if (polls % kPollsPerCheck != 0) continue;
    patience = look_up(exchange, wanted, place, patience);
    if (patience.over) return false;
  }
  if (patience.told) *static_cast<volatile uint32_t*>(place) = 0;
  return true;
}

// As await(), until a count of runs has reached `run`. Counts grow, and are compared by signed
// distance.
__device__ __forceinline__ bool await_run(const tilepost_exchange_t& exchange,
                                          const uint32_t* count, uint32_t run, uint32_t* place) {
  return await(exchange, count, run, place,
               [run](uint32_t value) { return static_cast<int32_t>(value - run) >= 0; });
}

// ---- The ranks meet

// The words that describe a run, in a line of runs begun. Each word contains the number of its run,
// so that the words need no order among them.
__device__ __forceinline__ volatile uint64_t* words_of_run(uint32_t* line, uint32_t run) {
  return reinterpret_cast<volatile uint64_t*>(line + kFirstRunWord) + (run & 1) * kRunWords;
}

// Renews one flag that rank `rank` stores in this rank's memory (flag_to_renew), before that rank
// learns that the run has begun. There are no flags where no operation of this memory exchanges
// tiles.
__device__ __forceinline__ void renew_flag(const tilepost_exchange_t& exchange, uint32_t run,
                                           int rank) {
  if (exchange.most_parts == 0) return;
  auto* const flags =
      reinterpret_cast<uint32_t*>(exchange.memory[exchange.rank] + exchange.arrived);
  *static_cast<volatile uint32_t*>(flag_to_renew(flags, exchange.most_parts, run, rank)) = run - 1;
}

// A thread for each rank. Announces to that rank which run this rank begins. Where kernels exchange
// tiles, only the other ranks' helper warps wait for that, to compare the words. In a whole run
// store threads may wait for it too. Also announces that the run before has ended, if the kernel of
// that run has left this to the next one (TILEPOST_EXCHANGES): this kernel comes behind its end.
__device__ __forceinline__ void tell_begun(const tilepost_exchange_t& exchange, uint32_t run,
                                           uint32_t last_kind, int rank) {
  renew_flag(exchange, run, rank);
  if ((last_kind & TILEPOST_EXCHANGES) != 0 && !is_given_up(exchange))
    ptx::store_release_sys(exchange_line(exchange, exchange.ended, rank, exchange.rank), run - 1);
  uint32_t* const line = exchange_line(exchange, exchange.begun, rank, exchange.rank);
  volatile uint64_t* const words = words_of_run(line, run);
#pragma unroll
  for (int i = 0; i < kRunWords; ++i) words[i] = run_word(run, exchange.words[i]);
  ptx::store_release_sys(line, run);
}

// The threads that call tell_begun. Waits until the other rank has begun the run, and compares the
// words. Returns false if the wait was given up, or if the other rank has begun a run that is not
// the same. The host then gets both ranks' words. A separate kernel that begins the other rank's
// run stores the words behind "begun", so they may still be under way.
__device__ __forceinline__ bool meet(const tilepost_exchange_t& exchange, uint32_t run, int rank) {
  constexpr int kPollsPerCheck = 4096;
  uint32_t* const line = exchange_line(exchange, exchange.begun, exchange.rank, rank);
  uint32_t* const place = exchange.begun_waits + 4 * rank;
  if (!await_run(exchange, line, run, place)) return false;
  const volatile uint64_t* const words = words_of_run(line, run);
  uint32_t theirs[kRunWords];
  uint32_t differs = 0;
  Patience patience;
  for (int polls = 1;; ++polls) {
    uint32_t others = 0;  // not 0: a word is still of another run
    differs = 0;
#pragma unroll
    for (int i = 0; i < kRunWords; ++i) {
      const uint64_t word = words[i];
      theirs[i] = static_cast<uint32_t>(word >> 32);
      others |= static_cast<uint32_t>(word) ^ run;
      differs |= theirs[i] ^ exchange.words[i];
    }
    if (others == 0) break;
    if (polls % kPollsPerCheck != 0) continue;
    patience = look_up(exchange, run, place, patience);
    if (patience.over) return false;
  }
  if (patience.told) *static_cast<volatile uint32_t*>(place) = 0;
  if (differs == 0) return true;
  // The first thread to find a difference reports it.
  if (atomicExch(exchange.given_up, 1) != 0) return false;
  volatile uint32_t* const told = exchange.difference;
  told[1] = static_cast<uint32_t>(rank);
#pragma unroll
  for (int i = 0; i < kRunWords; ++i) {
    told[2 + i] = exchange.words[i];
    told[2 + kRunWords + i] = theirs[i];
  }
  __threadfence_system();
  told[0] = 1;
  stay_for_host(exchange);
  return false;
}

// Reports to the host that a captured run is under way. Returns the number of the replay; 0 if the
// run is not captured. Reading the host's memory takes microseconds, so it is done once, while the
// products are made.
__device__ __forceinline__ uint32_t begin_replay(const tilepost_exchange_t& exchange) {
  if (exchange.replays == nullptr) return 0;
  volatile uint32_t* const words = exchange.replays;  // begun, ended, which run
  const uint32_t replay = words[0] + 1;
  words[2] = exchange.replayed;
  __threadfence_system();
  words[0] = replay;
  return replay;
}
// Reports to the host that the replay is over. This speaks for the first CTA, which has waited for
// all other ranks. Other CTAs may still wait, and report long waits themselves.
__device__ __forceinline__ void end_replay(const tilepost_exchange_t& exchange, uint32_t replay) {
  if (exchange.replays != nullptr) *static_cast<volatile uint32_t*>(exchange.replays + 1) = replay;
}

// What a kernel reads of its run: the run's number, and the kind of the run before it.
struct RunRead {
  uint32_t run, last_kind;
};
__device__ __forceinline__ RunRead read_run(const tilepost_exchange_t& exchange) {
  const volatile uint32_t* const words = exchange.run;
  return {words[kRunWord] + 1, words[kKindWord]};
}

// One thread for each of the grid's `readers` that have read the run. The last thread writes number
// and kind for the next kernel, which reads them behind the end of this one. All readers have read
// by then: each reads before its addition, and the additions have one order (PTX ISA 8.9.5).
// Returns true to the last thread.
__device__ __forceinline__ bool count_reader(const tilepost_exchange_t& exchange, uint32_t run,
                                             uint32_t readers) {
  __threadfence();
  if (atomicAdd(exchange.run + kReadWord, 1) + 1 != readers) return false;
  __threadfence();
  volatile uint32_t* const words = exchange.run;
  words[kReadWord] = 0;
  words[kKindWord] = exchange.kind;
  words[kRunWord] = run;
  return true;
}

// How many readers the grid has. In each CTA the helper warps count as one, and the store thread as
// another if it stores in other ranks' memory.
template <class View>
__device__ __forceinline__ uint32_t num_readers() {
  return gridDim.x * (View::kGathers || View::kShots == TILEPOST_ONE_SHOT_LINES ? 1 : 2);
}

}  // namespace tilepost::woven

#endif  // TILEPOST_DEVICE_MEETING_CUH
