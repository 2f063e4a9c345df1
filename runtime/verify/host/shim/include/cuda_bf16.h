// The part of CUDA's header of this name that kernels use, on the CPU: see cpu_shim.h.
#pragma once

#include "runtime/verify/host/shim/pairs.h"

using __nv_bfloat16 = tilepost::cpu::Number<tilepost::Bf16>;
using nv_bfloat16 = __nv_bfloat16;
using __nv_bfloat162 = tilepost::cpu::Pair<__nv_bfloat16>;
using nv_bfloat162 = __nv_bfloat162;

inline float __bfloat162float(__nv_bfloat16 x) {
  return x;
}
inline __nv_bfloat16 __float2bfloat16(float x) {
  return x;
}
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  return __float2bfloat16(x);
}
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__float2bfloat16(x), __float2bfloat16(y)};
}
inline __nv_bfloat162 __float22bfloat162_rn(float2 xy) {
  return __floats2bfloat162_rn(xy.x, xy.y);
}
inline float2 __bfloat1622float2(__nv_bfloat162 pair) {
  return {__bfloat162float(pair.x), __bfloat162float(pair.y)};
}
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
  return {x, y};
}
inline __nv_bfloat162 __float2bfloat162_rn(float x) {
  return {x, x};
}
