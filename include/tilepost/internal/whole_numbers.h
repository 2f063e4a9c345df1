// The arithmetic of a spec's expressions (docs/spec.md, Expressions), for the generator and for
// generated code alike.
#ifndef TILEPOST_WHOLE_NUMBERS_H
#define TILEPOST_WHOLE_NUMBERS_H

#include <cstdint>

#include "tilepost/mark.cuh"

namespace tilepost {

// x / y rounded down. floor_div, floor_mod and ceil_div require y > 0.
TILEPOST_INLINE constexpr int64_t floor_div(int64_t x, int64_t y) {
  return x / y - (x % y < 0 ? 1 : 0);
}

// The remainder of floor_div: from 0 to y - 1.
TILEPOST_INLINE constexpr int64_t floor_mod(int64_t x, int64_t y) {
  return x % y + (x % y < 0 ? y : 0);
}

// x / y rounded up.
TILEPOST_INLINE constexpr int64_t ceil_div(int64_t x, int64_t y) {
  return x / y + (x % y > 0 ? 1 : 0);
}

TILEPOST_INLINE constexpr int64_t least(int64_t x, int64_t y) {
  return x < y ? x : y;
}

TILEPOST_INLINE constexpr int64_t greatest(int64_t x, int64_t y) {
  return x > y ? x : y;
}

}  // namespace tilepost

#endif  // TILEPOST_WHOLE_NUMBERS_H
