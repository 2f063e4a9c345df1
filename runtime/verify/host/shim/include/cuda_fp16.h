// The part of CUDA's header of this name that kernels use, on the CPU: see cpu_shim.h.
#pragma once

#include "runtime/verify/host/shim/pairs.h"

using __half = tilepost::cpu::Number<tilepost::F16>;
using half = __half;
using __half2 = tilepost::cpu::Pair<__half>;
using half2 = __half2;

inline float __half2float(half x) {
  return x;
}
inline half __float2half(float x) {
  return x;
}
inline half __float2half_rn(float x) {
  return __float2half(x);
}
inline half2 __floats2half2_rn(float x, float y) {
  return {__float2half(x), __float2half(y)};
}
inline half2 __float22half2_rn(float2 xy) {
  return __floats2half2_rn(xy.x, xy.y);
}
inline float2 __half22float2(half2 pair) {
  return {__half2float(pair.x), __half2float(pair.y)};
}
inline half2 __halves2half2(half x, half y) {
  return {x, y};
}
inline half2 __half2half2(half x) {
  return {x, x};
}
inline half2 __float2half2_rn(float x) {
  return __half2half2(x);
}
