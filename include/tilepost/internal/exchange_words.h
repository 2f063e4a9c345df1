// Where kernels exchange tiles (TILEPOST_ACCESS_TILES): words in the memory that ranks share, and
// the words of each rank's run. These kernels use them on every target. So do the kernels that
// begin and end runs of other kinds in the same memory (runtime/cuda/shared/flags.h).
#ifndef TILEPOST_EXCHANGE_WORDS_H
#define TILEPOST_EXCHANGE_WORDS_H

#include <stdint.h>

#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost {

// Indices of the words at tilepost_exchange_t::run. The word of `given_up` is among them.
constexpr int kRunWord = 0, kGivenUpWord = 1, kKindWord = 2, kReadWord = 3, kHalfWord = 4,
              kSourcesWord = 5, kStoredWord = 6;

// The state of a wait, as the host reads it. A run in which a wait was given up stays under way for
// kStayNanoseconds, so that the host sees that state.
constexpr uint32_t kWaitIsOpen = 1, kWaitGaveUp = 2;
constexpr uint64_t kStayNanoseconds = 1'000'000'000;
constexpr unsigned kStayPollNanoseconds = 100'000;

// The line on rank `where` in which `rank` counts the runs that it has begun, or ended. `lines` is
// tilepost_exchange_t::begun or ::ended.
TILEPOST_INLINE uint32_t* exchange_line(const tilepost_exchange_t& exchange, int64_t lines,
                                        int where, int rank) {
  return reinterpret_cast<uint32_t*>(exchange.memory[where] + lines) +
         rank * TILEPOST_COUNTER_STRIDE;
}

// In the line of runs begun, words that describe the last two runs follow the number of runs. They
// are words of 64 bits, each with the number of its run in the low half. Runs of even and of odd
// number have words of their own: where kernels exchange tiles, a rank may begin run r + 1 before
// all other ranks have read the words of run r, but not run r + 2. kFirstRunWord is where the words
// of even runs begin, and run_words_at where those of a run begin, both counted in words of 32
// bits.
constexpr int kRunWords = 4, kFirstRunWord = 2;
TILEPOST_INLINE constexpr int run_words_at(uint32_t run) {
  return kFirstRunWord + static_cast<int>(run & 1) * 2 * kRunWords;
}
TILEPOST_INLINE constexpr uint64_t run_word(uint32_t run, uint32_t word) {
  return static_cast<uint64_t>(word) << 32 | run;
}
static_assert(run_words_at(1) + 2 * kRunWords <= TILEPOST_COUNTER_STRIDE);

// Where the flags of a part begin, in words, if there are flags of `parts` parts. Each rank that
// stores has one of them. `shot` is 0 or 1.
TILEPOST_INLINE constexpr long long exchange_flag_word(int parts, uint32_t run, int shot,
                                                       int part) {
  const long long line = (static_cast<long long>(run & 1) * 2 + shot) * parts + part;
  return line * TILEPOST_MOST_EXCHANGING;
}
// These flags on rank `where`.
TILEPOST_INLINE uint32_t* exchange_flags(const tilepost_exchange_t& exchange, int where,
                                         uint32_t run, int shot, int part) {
  return reinterpret_cast<uint32_t*>(exchange.memory[where] + exchange.arrived) +
         exchange_flag_word(exchange.most_parts, run, shot, part);
}
// The flag of `source` that a rank renews, in its own memory, in run `run`. `flags` is where the
// flags of `parts` parts begin.
//
// Runs are numbered modulo 2^32, and flags are waited for with "equal". So a flag must not keep its
// number until the numbers of runs have come round to it, nor the 0 of fresh memory until there is
// a run 0. In every run each rank therefore renews one flag of each source, among those of the next
// run's parity: it sets this flag to the number of the run before. The rank does so before it tells
// `source` that it has begun the run, and `source` stores nothing of the next run here before that
// (docs/internals/exchange-of-tiles.md, Numbers of runs).
TILEPOST_INLINE uint32_t* flag_to_renew(uint32_t* flags, int parts, uint32_t run, int source) {
  const uint32_t of_parity = 2 * static_cast<uint32_t>(parts);
  const uint32_t line = ((run + 1) & 1) * of_parity + (run >> 1) % of_parity;
  return flags + static_cast<int64_t>(line) * TILEPOST_MOST_EXCHANGING + source;
}

// Bytes of the flags of `parts` parts.
constexpr int64_t exchange_flags_bytes(int parts) {
  constexpr int64_t kWords = 4 * TILEPOST_MOST_EXCHANGING, kWordBytes = sizeof(uint32_t);
  return kWords * parts * kWordBytes;
}

}  // namespace tilepost

#endif  // TILEPOST_EXCHANGE_WORDS_H
