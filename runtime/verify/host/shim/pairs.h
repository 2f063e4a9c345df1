// 16-bit numbers that compute as in CUDA's headers: each operation rounds once.
#ifndef TILEPOST_SHIM_PAIRS_H
#define TILEPOST_SHIM_PAIRS_H

#include "runtime/verify/host/shim/cpu_shim.h"
#include "tilepost/numeric.h"

namespace tilepost::cpu {

template <class T>
struct alignas(4) Pair {
  T x, y;
};

// Rounds a result to T. The result passes through float, which holds sums and products of two such
// numbers exactly enough for one more rounding. x * y + z is computed in double.
template <class T>
T rounded(double value) {
  return from_float<T>(static_cast<float>(value));
}

}  // namespace tilepost::cpu

namespace tilepost {

#define TILEPOST_CPU_OPERATION(T, op)                                   \
  inline T operator op(T x, T y) {                                      \
    return cpu::rounded<T>(double{to_float(x)} op double{to_float(y)}); \
  }                                                                     \
  inline T& operator op##=(T& x, T y) {                                 \
    return x = x op y;                                                  \
  }
TILEPOST_CPU_OPERATION(Bf16, +)
TILEPOST_CPU_OPERATION(Bf16, -)
TILEPOST_CPU_OPERATION(Bf16, *)
TILEPOST_CPU_OPERATION(Bf16, /)
TILEPOST_CPU_OPERATION(F16, +)
TILEPOST_CPU_OPERATION(F16, -)
TILEPOST_CPU_OPERATION(F16, *)
TILEPOST_CPU_OPERATION(F16, /)
#undef TILEPOST_CPU_OPERATION

}  // namespace tilepost

template <class T>
T __hadd(T x, T y) {
  return x + y;
}
template <class T>
T __hmul(T x, T y) {
  return x * y;
}
template <class T>
T __hfma(T x, T y, T z) {
  return tilepost::cpu::rounded<T>(double{tilepost::to_float(x)} * double{tilepost::to_float(y)} +
                                   double{tilepost::to_float(z)});
}

template <class T>
tilepost::cpu::Pair<T> __hadd2(tilepost::cpu::Pair<T> x, tilepost::cpu::Pair<T> y) {
  return {x.x + y.x, x.y + y.y};
}
template <class T>
tilepost::cpu::Pair<T> __hmul2(tilepost::cpu::Pair<T> x, tilepost::cpu::Pair<T> y) {
  return {x.x * y.x, x.y * y.y};
}
template <class T>
tilepost::cpu::Pair<T> __hfma2(tilepost::cpu::Pair<T> x, tilepost::cpu::Pair<T> y,
                               tilepost::cpu::Pair<T> z) {
  return {__hfma(x.x, y.x, z.x), __hfma(x.y, y.y, z.y)};
}
template <class T>
T __low2half(tilepost::cpu::Pair<T> pair) {
  return pair.x;
}
template <class T>
T __high2half(tilepost::cpu::Pair<T> pair) {
  return pair.y;
}
template <class T>
float __low2float(tilepost::cpu::Pair<T> pair) {
  return tilepost::to_float(pair.x);
}
template <class T>
float __high2float(tilepost::cpu::Pair<T> pair) {
  return tilepost::to_float(pair.y);
}

#endif  // TILEPOST_SHIM_PAIRS_H
