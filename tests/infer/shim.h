// What kernels here need besides the CPU shim: halves, and a printf that says nothing. Vectors may
// lie anywhere: where a kernel stores is looked at, be that aligned or not.
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
