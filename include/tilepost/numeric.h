// The element types for host code: the 16- and 8-bit floating-point types as plain structs, with
// exact conversions to and from float.
//
// Host code (the host target's kernels and collectives, tests, the verify program) uses these types
// where CUDA code uses __nv_bfloat16 and __half. They need no compiler support, and every platform
// rounds alike. A conversion from float rounds to nearest, ties to even. With 16 bits overflow
// gives infinity, and a NaN stays a NaN, made quiet, with its sign and the upper bits of its
// payload (IEEE 754-2019, 4.3.1 and 6.2.3). With 8 bits overflow gives the largest number.
#ifndef TILEPOST_NUMERIC_H
#define TILEPOST_NUMERIC_H

#include <cstdint>

#include "tilepost/mark.cuh"

namespace tilepost {

// bfloat16: sign, 8 exponent bits, 7 mantissa bits; the upper half of a float.
struct Bf16 {
  uint16_t bits;
};

// IEEE 754 binary16: sign, 5 exponent bits, 10 mantissa bits.
struct F16 {
  uint16_t bits;
};

// E4M3 of the OCP 8-bit floating point specification: sign, 4 exponent bits with bias 7, 3 mantissa
// bits. There are no infinities, all ones is NaN, and the largest number is 448. Inputs have this
// type, and outputs with scales of blocks.
struct E4m3 {
  uint8_t bits;
};

// The host type of a DType: HostElement<DType::bf16> is Bf16.
template <DType>
struct HostElementOf;
template <>
struct HostElementOf<DType::bf16> {
  using Type = Bf16;
};
template <>
struct HostElementOf<DType::f16> {
  using Type = F16;
};
template <>
struct HostElementOf<DType::e4m3> {
  using Type = E4m3;
};
template <>
struct HostElementOf<DType::f32> {
  using Type = float;
};
template <DType kType>
using HostElement = typename HostElementOf<kType>::Type;

// Calls `body` with a value of the host type of an output's 16-bit elements.
template <class Body>
inline void with_half(DType output, const Body& body) {
  if (output == DType::bf16)
    body(Bf16{});
  else
    body(F16{});
}

TILEPOST_INLINE constexpr float to_float(float value) {
  return value;
}

// Exact.
TILEPOST_INLINE constexpr float to_float(Bf16 value) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(value.bits) << 16);
}

// Exact. A subnormal is its mantissa times 2^-24, which is a normal float.
TILEPOST_INLINE constexpr float to_float(F16 value) {
  const uint32_t sign = (value.bits & 0x8000u) << 16;
  const uint32_t magnitude = value.bits & 0x7fffu;
  uint32_t bits = (magnitude << 13) + ((127u - 15u) << 23);
  if (magnitude >= 0x7c00u) bits = (magnitude << 13) | 0x7f800000u;
  if (magnitude < 0x0400u)
    bits = __builtin_bit_cast(uint32_t, static_cast<float>(static_cast<int>(magnitude)) * 0x1p-24f);
  return __builtin_bit_cast(float, sign | bits);
}

// Exact. A subnormal is its mantissa times 2^-9.
TILEPOST_INLINE constexpr float to_float(E4m3 value) {
  const uint32_t sign = (value.bits & 0x80u) << 24;
  const uint32_t magnitude = value.bits & 0x7fu;
  uint32_t bits = (magnitude << 20) + ((127u - 7u) << 23);
  if (magnitude == 0x7fu) bits = 0x7fc00000u;
  if (magnitude < 0x08u)
    bits = __builtin_bit_cast(uint32_t, static_cast<float>(static_cast<int>(magnitude)) * 0x1p-9f);
  return __builtin_bit_cast(float, sign | bits);
}

// Adds just under half of the last place kept, and the last bit kept. The sum carries into the kept
// bits exactly when rounding to nearest even rounds up. A carry out of the mantissa gives the next
// exponent, or infinity.
TILEPOST_INLINE constexpr Bf16 to_bf16(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return Bf16{static_cast<uint16_t>((bits >> 16) | 0x0040u)};
  return Bf16{static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

TILEPOST_INLINE constexpr F16 to_f16(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t half = 0;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u | ((magnitude >> 13) & 0x03ffu);
  } else if (magnitude >= 0x477ff000u) {  // 65520, the tie between 65504 and what would be 65536
    half = 0x7c00u;
  } else if (magnitude >= 0x38800000u) {  // 2^-14, the least normal number
    half = (magnitude + 0x0fffu + ((magnitude >> 13) & 1u) - ((127u - 15u) << 23)) >> 13;
  } else {
    // The last place of 0.5f is 2^-24, like that of the subnormals, so the addition rounds.
    const float rounded = __builtin_bit_cast(float, magnitude) + 0.5f;
    half = __builtin_bit_cast(uint32_t, rounded) - 0x3f000000u;
  }
  return F16{static_cast<uint16_t>(sign | half)};
}

// As cvt.rn.satfinite.e4m3x2.f32 does (PTX ISA, cvt): what lies beyond 448 gives 448, and every NaN
// the one without a sign.
TILEPOST_INLINE constexpr E4m3 to_e4m3(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t sign = (bits >> 24) & 0x80u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return E4m3{0x7fu};
  uint32_t byte = 0;
  if (magnitude >= 0x43e00000u) {  // 448
    byte = 0x7eu;
  } else if (magnitude >= 0x3c800000u) {  // 2^-6, the least normal number
    byte = (magnitude + 0x7ffffu + ((magnitude >> 20) & 1u) - ((127u - 7u) << 23)) >> 20;
  } else {
    // The last place of 2^14 is 2^-9, like that of the subnormals, so the addition rounds.
    const float rounded = __builtin_bit_cast(float, magnitude) + 0x1p14f;
    byte = __builtin_bit_cast(uint32_t, rounded) - 0x46800000u;
  }
  return E4m3{static_cast<uint8_t>(sign | byte)};
}

// The conversion chosen by type: from_float<Bf16>(x).
template <class T>
TILEPOST_INLINE constexpr T from_float(float value);
template <>
TILEPOST_INLINE constexpr Bf16 from_float<Bf16>(float value) {
  return to_bf16(value);
}
template <>
TILEPOST_INLINE constexpr F16 from_float<F16>(float value) {
  return to_f16(value);
}
template <>
TILEPOST_INLINE constexpr E4m3 from_float<E4m3>(float value) {
  return to_e4m3(value);
}
template <>
TILEPOST_INLINE constexpr float from_float<float>(float value) {
  return value;
}

}  // namespace tilepost

#endif  // TILEPOST_NUMERIC_H
