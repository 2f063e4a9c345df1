#pragma once

#include "tests/unit/cpu_shim/cpu_shim.h"
#include "tilepost/numeric.h"

using half = tilepost::F16;
using __half = half;

inline float __half2float(half x) {
  return tilepost::to_float(x);
}
inline half __float2half(float x) {
  return tilepost::from_float<tilepost::F16>(x);
}
