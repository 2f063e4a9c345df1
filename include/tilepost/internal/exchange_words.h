// Words in the memory that ranks share, and of each rank's run, where kernels exchange tiles
// (TILEPOST_ACCESS_TILES): for these kernels on every target, and for the kernels that begin and
// end runs of other kinds in the same memory (runtime/cuda/shared/flags.h).
#ifndef TILEPOST_EXCHANGE_WORDS_H
#define TILEPOST_EXCHANGE_WORDS_H

#include <stdint.h>

#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost {

// Of tilepost_exchange_t::run; given_up is among them.
constexpr int kRunWord = 0, kGivenUpWord = 1, kKindWord = 2, kReadWord = 3, kHalfWord = 4,
              kSourcesWord = 5, kStoredWord = 6;

// The state of a wait, as the host reads it, and how long a wait that has given up keeps its run
// under way, until the host has seen that.
constexpr uint32_t kWaitIsOpen = 1, kWaitGaveUp = 2;
constexpr uint64_t kStayNanoseconds = 1'000'000'000;
constexpr unsigned kStayPollNanoseconds = 100'000;

// The line in which `rank` says, on rank `where`, which runs it has begun, or ended.
TILEPOST_INLINE uint32_t* exchange_line(const tilepost_exchange_t& exchange, int64_t lines,
                                        int where, int rank) {
  return reinterpret_cast<uint32_t*>(exchange.memory[where] + lines) +
         rank * TILEPOST_COUNTER_STRIDE;
}

// In the line of runs begun, behind the number: what the last two of them are, words of 64 bits,
// each with the number of the run in its low half. By the run's parity: where kernels exchange
// tiles a rank may begin a run before all others have seen what the last one is, but not the one
// behind that. Where they begin, in words of 32 bits: those of even runs, and of one.
constexpr int kRunWords = 4, kFirstRunWord = 2;
TILEPOST_INLINE constexpr int run_words_at(uint32_t run) {
  return kFirstRunWord + static_cast<int>(run & 1) * 2 * kRunWords;
}
TILEPOST_INLINE constexpr uint64_t run_word(uint32_t run, uint32_t word) {
  return static_cast<uint64_t>(word) << 32 | run;
}
static_assert(run_words_at(1) + 2 * kRunWords <= TILEPOST_COUNTER_STRIDE);

// Flags of a part on rank `where`, by the rank that stores; `shot` is 0 or 1.
TILEPOST_INLINE uint32_t* exchange_flags(const tilepost_exchange_t& exchange, int where,
                                         uint32_t run, int shot, int part) {
  const long long line = (static_cast<long long>(run & 1) * 2 + shot) * exchange.most_parts + part;
  return reinterpret_cast<uint32_t*>(exchange.memory[where] + exchange.arrived) +
         line * TILEPOST_MOST_EXCHANGING;
}
// Numbers of runs count modulo 2^32, and flags are waited for with "equal". So a flag may not keep
// its number until runs have come round to that, nor the 0 of fresh memory until there is a run 0.
// In every run each rank makes one flag new in its own memory, of each source, among those of the
// next run's parity: this one, which gets the number of the run before. It does so before it tells
// `source` that it has begun the run: `source` stores nothing of the next run here before that
// (docs/internals/exchange-of-tiles.md, Numbers of runs). `flags`: where they begin, of `parts`
// parts.
TILEPOST_INLINE uint32_t* flag_to_renew(uint32_t* flags, int parts, uint32_t run, int source) {
  const uint32_t of_parity = 2 * static_cast<uint32_t>(parts);
  const uint32_t line = ((run + 1) & 1) * of_parity + (run >> 1) % of_parity;
  return flags + static_cast<int64_t>(line) * TILEPOST_MOST_EXCHANGING + source;
}

// Bytes of all of them.
constexpr int64_t exchange_flags_bytes(int parts) {
  return int64_t{2} * 2 * parts * TILEPOST_MOST_EXCHANGING * int64_t{sizeof(uint32_t)};
}

}  // namespace tilepost

#endif  // TILEPOST_EXCHANGE_WORDS_H
