#pragma once

#include "tests/unit/cpu_shim/cpu_shim.h"
#include "tilepost/numeric.h"

using __nv_bfloat16 = tilepost::Bf16;

inline float __bfloat162float(__nv_bfloat16 x) {
  return tilepost::to_float(x);
}
inline __nv_bfloat16 __float2bfloat16(float x) {
  return tilepost::from_float<tilepost::Bf16>(x);
}
