// How the kernel of a rank that is a thread meets the kernels of the other ranks, in runs that are
// one kernel. The protocol is that of tilepost/device/meeting.cuh, written independently.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "runtime/cuda/watch/watch_page.h"
#include "tests/runtime/fakes.h"
#include "tilepost/plan.h"

namespace ranks {

inline uint32_t load(const uint32_t* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
inline void store(uint32_t* word, uint32_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

class Meeting {
 public:
  explicit Meeting(const tilepost_exchange_t& exchange)
      : exchange_(exchange), run_(load(exchange_.run) + 1), last_kind_(load(exchange_.run + 2)) {}

  // Makes waits that neither report to the host nor know a deadline. They give up after `seconds`,
  // because the host waits for the launch to return.
  void wait_quietly(double seconds) { quiet_seconds_ = seconds; }

  // Begins the run and announces it to the other ranks.
  void begin() {
    store(exchange_.run + 2, exchange_.kind);
    store(exchange_.run, run_);
    replay_ = begin_replay();
    tell_begun();
  }

  // Waits until memory that the last run has used may be used again. Returns false, as the
  // functions below do, if the run is given up.
  bool follow() {
    if (last_kind_ != exchange_.kind && !follow_other_kind()) return false;
    return load(exchange_.given_up) == 0;
  }

  // Waits until all ranks have begun the run, and compares what they report of it.
  bool meet() {
    for (int rank = 0; rank < exchange_.ranks; ++rank) {
      uint32_t* const begun = line(exchange_.begun, exchange_.rank, rank);
      if (!await_run(begun, run_, exchange_.begun_waits + 4 * rank)) return false;
      std::array<uint32_t, 4> theirs{};
      for (int i = 0; i < 4; ++i) theirs[i] = static_cast<uint32_t>(words(begun, run_)[i] >> 32);
      if (std::equal(theirs.begin(), theirs.end(), exchange_.words)) continue;
      store(exchange_.given_up, 1);
      exchange_.difference[1] = static_cast<uint32_t>(rank);
      for (int i = 0; i < 4; ++i) {
        exchange_.difference[2 + i] = exchange_.words[i];
        exchange_.difference[6 + i] = theirs[i];
      }
      store(exchange_.difference, 1);
      return false;
    }
    return true;
  }

  uint32_t run() const { return run_; }

  void end() {
    if (exchange_.replays != nullptr) store(exchange_.replays + 1, replay_);
  }

  // A kernel that was late does not end before the host has written `abort`.
  fakes::Hang end_given_up() const {
    if (!late_) return {};
    return {true, [abort = exchange_.abort] { return load(abort) != 0; }};
  }

 protected:
  uint32_t* line(int64_t lines, int where, int rank) const {
    return reinterpret_cast<uint32_t*>(exchange_.memory[where] + lines) +
           rank * TILEPOST_COUNTER_STRIDE;
  }

  uint32_t* flag(int where, int shot, int part, int source) const {
    const int64_t of_part = ((run_ & 1) * 2 + shot) * exchange_.most_parts + part;
    return reinterpret_cast<uint32_t*>(exchange_.memory[where] + exchange_.arrived) +
           of_part * TILEPOST_MOST_EXCHANGING + source;
  }

  // Waits until the word has come. Every wait also ends when this rank has given up the run.
  template <class HasCome>
  bool await(const uint32_t* word, uint32_t wanted, uint32_t* place, HasCome has_come) {
    const auto begin = Clock::now();
    bool told = false;
    while (!has_come(load(word))) {
      if (load(exchange_.given_up) != 0) return false;
      const auto elapsed = Clock::now() - begin;
      if (quiet_seconds_ > 0) {
        if (elapsed > std::chrono::duration<double>(quiet_seconds_)) return false;
        std::this_thread::sleep_for(kPoll);
        continue;
      }
      late_ =
          exchange_.deadline_ns != 0 && elapsed >= std::chrono::nanoseconds(exchange_.deadline_ns);
      if (late_) tell(place, tilepost::cuda::kGaveUp, wanted);
      if (late_ || load(exchange_.abort) != 0) {
        store(exchange_.given_up, 1);
        return false;
      }
      if (!told && elapsed > kTold) {
        tell(place, tilepost::cuda::kWaiting, wanted);
        told = true;
      }
      std::this_thread::sleep_for(kPoll);
    }
    if (told) store(place, 0);
    return true;
  }
  bool await_run(const uint32_t* count, uint32_t run, uint32_t* place) {
    return await(count, run, place,
                 [&](uint32_t value) { return static_cast<int32_t>(value - run) >= 0; });
  }

  const tilepost_exchange_t exchange_;
  const uint32_t run_, last_kind_;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kPoll{20};
  static constexpr std::chrono::milliseconds kTold{10};  // a longer wait is reported to the host

  static void tell(uint32_t* place, uint32_t state, uint32_t wanted) {
    place[1] = 0;
    place[2] = wanted - 1;
    place[3] = wanted;
    store(place, state);
  }

  uint32_t begin_replay() {
    if (exchange_.replays == nullptr) return 0;
    store(exchange_.replays + 2, exchange_.replayed);
    store(exchange_.replays, load(exchange_.replays) + 1);
    return load(exchange_.replays);
  }

  static uint64_t* words(uint32_t* line, uint32_t run) {
    return reinterpret_cast<uint64_t*>(line + 2) + (run & 1) * 4;
  }

  // Renews one of the flags that `source` stores here in runs of the other parity.
  void renew_flag(int source) const {
    const auto of_parity = 2 * static_cast<uint32_t>(exchange_.most_parts);
    if (of_parity == 0) return;
    const uint32_t line = (run_ % 2 == 0 ? of_parity : 0) + run_ / 2 % of_parity;
    auto* const flags =
        reinterpret_cast<uint32_t*>(exchange_.memory[exchange_.rank] + exchange_.arrived);
    store(flags + line * TILEPOST_MOST_EXCHANGING + source, run_ - 1);
  }

  void tell_begun() {
    for (int rank = 0; rank < exchange_.ranks; ++rank) {
      renew_flag(rank);
      if ((last_kind_ & TILEPOST_EXCHANGES) != 0 && load(exchange_.given_up) == 0)
        store(line(exchange_.ended, rank, exchange_.rank), run_ - 1);
      uint32_t* const begun = line(exchange_.begun, rank, exchange_.rank);
      for (int i = 0; i < 4; ++i)
        __atomic_store_n(words(begun, run_) + i, uint64_t{exchange_.words[i]} << 32 | run_,
                         __ATOMIC_RELAXED);
      store(begun, run_);
    }
  }

  bool follow_other_kind() {
    for (int rank = 0; rank < exchange_.ranks; ++rank)
      if (!await_run(line(exchange_.ended, exchange_.rank, rank), run_ - 1,
                     exchange_.ended_waits + 4 * rank))
        return false;
    return true;
  }

  double quiet_seconds_ = 0;
  uint32_t replay_ = 0;
  bool late_ = false;
};

}  // namespace ranks
