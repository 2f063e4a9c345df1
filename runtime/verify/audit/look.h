// Finds what a kernel has changed in memory that had been filled with a pattern. The host and a GPU
// judge the memory with the same code.
//
// Two memories are filled with patterns that differ in every byte, and the kernel runs once on
// each. A byte that the kernel has stored differs from at least one of the patterns, whatever its
// value is. A byte that it has not stored has the pattern in both memories.
#pragma once

#include <cstdint>

#include "runtime/verify/reference/data.h"

namespace tilepost::verify {

// Word `index` of pattern `which`. The second pattern is the complement of the first.
TILEPOST_VERIFY_INLINE uint32_t fill_word(int64_t index, int which) {
  const auto word = static_cast<uint32_t>(index) * 0x9e3779b1u + 0x7f4a7c15u;
  return which == 0 ? word : ~word;
}

// A rectangle of the output that the kernel must store to, and `spare` rows behind it that the
// kernel may store to. Where a tile is not whole, nobody reads the rest of its place.
struct TilePlace {
  int64_t row, rows, column, columns, spare;
};

// The findings: a set of these bits.
constexpr uint32_t kMissing = 1;  // a byte of a place is not stored
constexpr uint32_t kOutside = 2;  // a byte outside of the places is stored
constexpr uint32_t kUnequal = 4;  // stored values depend on what was there before
constexpr uint32_t kCounter = 8;  // a counter did not rise as it should

// The most places of one look. Each of the CTAs that run together has one place.
constexpr int kMostPlaces = 8;

// The arguments of one look. Memory is that of the device that looks.
struct Look {
  uint32_t* memory[2];
  int64_t words;  // words of each memory
  int64_t begin;  // the byte at which the output begins
  int64_t row_bytes;
  int element_bytes;
  TilePlace places[kMostPlaces];  // an entry without rows counts as no place
  uint32_t* counters;
  int64_t num_counters;         // words
  int64_t raised[kMostPlaces];  // indices of the words that must rise; -1 if there is none
  uint32_t signals;             // what each entry of `raised` adds to its word
};

// Whether byte `at` of the memory is in one of the places.
TILEPOST_VERIFY_INLINE bool is_placed(const Look& look, int64_t at) {
  const int64_t in_output = at - look.begin;
  for (const TilePlace& place : look.places) {
    if (place.rows <= 0) continue;
    const int64_t first = place.column * look.element_bytes;
    const int64_t end = (place.column + place.columns) * look.element_bytes;
    if (in_output < place.row * look.row_bytes + first ||
        in_output >= (place.row + place.rows - 1) * look.row_bytes + end)
      continue;
    const int64_t in_row = in_output % look.row_bytes;
    if (in_row >= first && in_row < end) return true;
  }
  return false;
}

// Whether byte `at` is in the spare rows behind a place.
TILEPOST_VERIFY_INLINE bool is_spare(const Look& look, int64_t at) {
  const int64_t row = (at - look.begin) / look.row_bytes;
  const int64_t in_row = (at - look.begin) % look.row_bytes;
  for (const TilePlace& place : look.places)
    if (at >= look.begin && row >= place.row + place.rows &&
        row < place.row + place.rows + place.spare && in_row >= place.column * look.element_bytes &&
        in_row < (place.column + place.columns) * look.element_bytes)
      return true;
  return false;
}

// The findings for byte `at`, whose values in the two memories are `got`.
TILEPOST_VERIFY_INLINE uint32_t judge_byte(const Look& look, int64_t at, const uint8_t (&got)[2]) {
  const int shift = static_cast<int>(at % 4) * 8;
  const auto fill = static_cast<uint8_t>(fill_word(at / 4, 0) >> shift);
  const bool stored = got[0] != fill || got[1] != static_cast<uint8_t>(~fill);
  if (!is_placed(look, at)) return stored && !is_spare(look, at) ? kOutside : 0;
  return !stored ? kMissing : got[0] != got[1] ? kUnequal : 0;
}

// The findings for the bytes of a word of the memories.
TILEPOST_VERIFY_INLINE uint32_t judge_word(const Look& look, int64_t word) {
  uint32_t found = 0;
  for (int64_t at = word * 4; at < word * 4 + 4; ++at) {
    const int shift = static_cast<int>(at % 4) * 8;
    const uint8_t got[2] = {static_cast<uint8_t>(look.memory[0][word] >> shift),
                            static_cast<uint8_t>(look.memory[1][word] >> shift)};
    found |= judge_byte(look, at, got);
  }
  return found;
}

// The findings for a word of the counters.
TILEPOST_VERIFY_INLINE uint32_t judge_counter(const Look& look, int64_t word) {
  uint32_t expected = 0;
  for (const int64_t raised : look.raised)
    if (raised == word) expected += look.signals;
  return look.counters[word] == expected ? 0 : kCounter;
}

// Judges a word of the memories, and fills it anew.
TILEPOST_VERIFY_INLINE uint32_t look_at_word(const Look& look, int64_t word) {
  const uint32_t fill = fill_word(word, 0);
  const bool untouched = look.memory[0][word] == fill && look.memory[1][word] == ~fill;
  if (untouched && !is_placed(look, word * 4) && !is_placed(look, word * 4 + 3)) return 0;
  const uint32_t found = judge_word(look, word);
  look.memory[0][word] = fill;
  look.memory[1][word] = ~fill;
  return found;
}

// Judges a word of the counters, and sets it to 0 again.
TILEPOST_VERIFY_INLINE uint32_t look_at_counter(const Look& look, int64_t word) {
  const uint32_t found = judge_counter(look, word);
  look.counters[word] = 0;
  return found;
}

}  // namespace tilepost::verify
