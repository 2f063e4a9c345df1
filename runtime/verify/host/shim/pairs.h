// 16-bit numbers that compute as in CUDA's headers: each operation rounds once.
#ifndef TILEPOST_SHIM_PAIRS_H
#define TILEPOST_SHIM_PAIRS_H

#include <type_traits>

#include "runtime/verify/host/shim/cpu_shim.h"
#include "tilepost/numeric.h"

namespace tilepost::cpu {

// A 16-bit floating-point number. As with CUDA's __half and __nv_bfloat16, every arithmetic type
// converts to it implicitly, and it converts to float. Bits is F16 or Bf16 (tilepost/numeric.h).
template <class Bits>
struct Number : Bits {
  Number() = default;
  constexpr Number(Bits bits) : Bits(bits) {}
  template <class N>
  requires std::is_arithmetic_v<N>
  constexpr Number(N value) : Bits(from_float<Bits>(static_cast<float>(value))) {}
  constexpr operator float() const { return to_float(static_cast<const Bits&>(*this)); }

  // A result passes through double and float, which hold sums and products of two such numbers
  // exactly enough for one more rounding.
  friend Number operator+(Number x, Number y) { return x.wide() + y.wide(); }
  friend Number operator-(Number x, Number y) { return x.wide() - y.wide(); }
  friend Number operator*(Number x, Number y) { return x.wide() * y.wide(); }
  friend Number operator/(Number x, Number y) { return x.wide() / y.wide(); }
  friend Number operator-(Number x) { return -x.wide(); }
  Number& operator+=(Number y) { return *this = *this + y; }
  Number& operator-=(Number y) { return *this = *this - y; }
  Number& operator*=(Number y) { return *this = *this * y; }
  Number& operator/=(Number y) { return *this = *this / y; }

  double wide() const { return static_cast<float>(*this); }
};

template <class T>
struct alignas(4) Pair {
  T x, y;
  friend Pair operator+(Pair p, Pair q) { return {p.x + q.x, p.y + q.y}; }
  friend Pair operator-(Pair p, Pair q) { return {p.x - q.x, p.y - q.y}; }
  friend Pair operator*(Pair p, Pair q) { return {p.x * q.x, p.y * q.y}; }
};

}  // namespace tilepost::cpu

template <class T>
T __hadd(T x, T y) {
  return x + y;
}
template <class T>
T __hsub(T x, T y) {
  return x - y;
}
template <class T>
T __hmul(T x, T y) {
  return x * y;
}
template <class T>
T __hfma(T x, T y, T z) {
  return x.wide() * y.wide() + z.wide();
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
  return pair.x;
}
template <class T>
float __high2float(tilepost::cpu::Pair<T> pair) {
  return pair.y;
}

#endif  // TILEPOST_SHIM_PAIRS_H
