// What these kernels need besides the CPU shim: half types, and a printf that prints nothing.
// Vector types need no alignment, because stores to unaligned places must be seen, too.
#pragma once

#define TILEPOST_CPU_ALIGN(n)

#include <cassert>

#include "runtime/verify/host/shim/cpu_shim.h"

#define printf(...) 0

struct __half {
  uint16_t bits;
};
struct __half2 {
  __half x, y;
};
using half = __half;
using half2 = __half2;
inline half2 __floats2half2_rn(float x, float y) {
  return {{static_cast<uint16_t>(x)}, {static_cast<uint16_t>(y)}};
}
