// How a kernel that exchanges tiles with those of other ranks meets them: which run it is, what it
// waits for and how long, and what the host is told. exchange.cuh says what for.
#ifndef TILEPOST_DEVICE_MEETING_CUH
#define TILEPOST_DEVICE_MEETING_CUH

#include <cstdint>

#include "tilepost/device/ptx.cuh"
#include "tilepost/internal/exchange_words.h"
#include "tilepost/plan.h"

namespace tilepost::woven {

constexpr int kHelperBarrier = 1;  // ptx::sync_threads: of the helper warps
constexpr int kTeamBarrier = 2;    // of them and those that join them

// ---- Waiting

// Tells the host of a wait: what it waits for, of which one signal is missing, then that it does.
inline __device__ __noinline__ void tell_wait(uint32_t* place, uint32_t state, uint32_t wanted) {
  volatile uint32_t* const words = place;
  words[1] = 0;  // the only group
  words[2] = wanted - 1;
  words[3] = wanted;
  __threadfence_system();
  words[0] = state;
}

// Whether a wait of this rank has given up, so that no other one has to find out for itself.
__device__ __forceinline__ bool is_given_up(const tilepost_exchange_t& exchange) {
  return *static_cast<const volatile uint32_t*>(exchange.given_up) != 0;
}

__device__ __forceinline__ void give_up(const tilepost_exchange_t& exchange) {
  *static_cast<volatile uint32_t*>(exchange.given_up) = 1;
}

// A wait that has given up keeps its run under way until the host has seen that.
inline __device__ __noinline__ void stay_for_host(const tilepost_exchange_t& exchange) {
  const uint64_t start = ptx::global_time_ns();
  while (ptx::load_relaxed_sys(exchange.abort) == 0 &&
         ptx::global_time_ns() - start < kStayNanoseconds)
    ptx::sleep_ns(kStayPollNanoseconds);
}

// A wait's state: since when it waits, whether the host was told, and whether it is given up.
struct Patience {
  uint64_t start = 0;
  bool told = false, over = false;
};

// What a wait does every so often. It is over when the host, or another wait, has given up, or when
// the deadline has passed. Looking at the host's word crosses PCIe.
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
  // Parts have one place together, which a wait that ends takes back: the next one is for those
  // that do not end.
  if (late) tell_wait(place == exchange.arrived_wait ? place + 4 : place, kWaitGaveUp, wanted);
  if (late) stay_for_host(exchange);
  give_up(exchange);
  patience.over = true;
  return patience;
}

// One thread. Waits until has_come(the word's value), and acquires what was released with it. Every
// poll acquires, which invalidates L1: polling with relaxed loads would need another load behind
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

// The same for a count of runs, compared by signed distance: it grows.
__device__ __forceinline__ bool await_run(const tilepost_exchange_t& exchange,
                                          const uint32_t* count, uint32_t run, uint32_t* place) {
  return await(exchange, count, run, place,
               [run](uint32_t value) { return static_cast<int32_t>(value - run) >= 0; });
}

// ---- The ranks meet

// What a run is, in the line of those begun: words that say themselves which run they are of, and
// so need no order among them.
__device__ __forceinline__ volatile uint64_t* words_of_run(uint32_t* line, uint32_t run) {
  return reinterpret_cast<volatile uint64_t*>(line + kFirstRunWord) + (run & 1) * kRunWords;
}

// A flag that the other rank stores here, behind which it learns that the run has begun
// (flag_to_renew). There are none where no operation of this memory exchanges tiles.
__device__ __forceinline__ void renew_flag(const tilepost_exchange_t& exchange, uint32_t run,
                                           int rank) {
  if (exchange.most_parts == 0) return;
  auto* const flags =
      reinterpret_cast<uint32_t*>(exchange.memory[exchange.rank] + exchange.arrived);
  *static_cast<volatile uint32_t*>(flag_to_renew(flags, exchange.most_parts, run, rank)) = run - 1;
}

// A thread for each rank: tells it what this rank begins. Nothing waits for that but the other
// ranks' helper warps, which wait to say if it is another run. And that the run before has ended,
// which a kernel that exchanges tiles leaves to the next one: this one comes behind its end.
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

// The same threads: waits until that rank has begun the run. False if it has begun another one
// than this rank, which the host is told, or if the wait was given up. Where the other rank's run
// is one that a kernel of its own begins, its words may still be under way.
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
    uint32_t others = 0;  // bits of numbers of other runs
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
  if (atomicExch(exchange.given_up, 1) != 0) return false;  // of several the first tells
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

// The host is told that a captured run is under way: which replay it is. Reading the host's memory
// takes microseconds, so that is done once, beside the products.
__device__ __forceinline__ uint32_t begin_replay(const tilepost_exchange_t& exchange) {
  if (exchange.replays == nullptr) return 0;
  volatile uint32_t* const words = exchange.replays;  // begun, ended, which
  const uint32_t replay = words[0] + 1;
  words[2] = exchange.replayed;
  __threadfence_system();
  words[0] = replay;
  return replay;
}
// And that it is over: the first CTA's part of it, which waits for all other ranks. Other CTAs may
// still wait, and tell the host by themselves if that takes too long.
__device__ __forceinline__ void end_replay(const tilepost_exchange_t& exchange, uint32_t replay) {
  if (exchange.replays != nullptr) *static_cast<volatile uint32_t*>(exchange.replays + 1) = replay;
}

// What a run is to its rank: its number, and the kind of the run before it.
struct RunRead {
  uint32_t run, last_kind;
};
__device__ __forceinline__ RunRead read_run(const tilepost_exchange_t& exchange) {
  const volatile uint32_t* const words = exchange.run;
  return {words[kRunWord] + 1, words[kKindWord]};
}

// One thread for each of the `readers` of the grid, which has read the run. The last of them writes
// it for the next kernel, which reads behind the end of this one: all have read by then, for their
// reads come before their additions, which have one order (PTX ISA 8.9.5). True to the last one.
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

// Whoever reads the run in a CTA: the helper warps, and the thread that stores, if it stores with
// other ranks.
template <class View>
__device__ __forceinline__ uint32_t num_readers() {
  return gridDim.x * (View::kGathers || View::kShots == TILEPOST_ONE_SHOT_LINES ? 1 : 2);
}

}  // namespace tilepost::woven

#endif  // TILEPOST_DEVICE_MEETING_CUH
