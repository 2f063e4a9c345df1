// The CUDA type of a kernel's elements (its tunables ELEMENT and OUTPUT), and conversions from and
// to fp32.
#ifndef TILEPOST_DEVICE_ELEMENT_CUH
#define TILEPOST_DEVICE_ELEMENT_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "tilepost/mark.cuh"
#include "tilepost/numeric.h"

namespace tilepost {

template <DType>
struct DeviceElementOf;
template <>
struct DeviceElementOf<DType::bf16> {
  using Type = __nv_bfloat16;
};
template <>
struct DeviceElementOf<DType::f16> {
  using Type = __half;
};
template <>
struct DeviceElementOf<DType::e4m3> {
  using Type = __nv_fp8_e4m3;
};
template <>
struct DeviceElementOf<DType::f32> {
  using Type = float;
};

// __nv_bfloat16, __half, __nv_fp8_e4m3 or float.
template <DType kType>
using DeviceElement = typename DeviceElementOf<kType>::Type;

// A dtype to name where elements are only moved, so that their dtype does not matter.
constexpr DType kMoved = DType{};

template <DType kValue>
struct OutputType {
  static constexpr DType value = kValue;
};

// Calls `body` with the OutputType of elements of 16 bits. `output` is a constant of the caller's,
// so that only one of the calls is left when the compiler has inlined this.
template <class Body>
__device__ __forceinline__ auto with_output(DType output, const Body& body) {
  if (output == DType::bf16) return body(OutputType<DType::bf16>{});
  return body(OutputType<DType::f16>{});
}

// Rounds two neighbours of a row to nearest even, into one word with `low` in the lower half.
template <DType kType>
__device__ __forceinline__ uint32_t pack(float low, float high) {
  static_assert(kType == DType::bf16 || kType == DType::f16, "outputs have 16 bits");
  uint32_t word;
  if constexpr (kType == DType::bf16)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}

// Rounds two neighbours of a row to e4m3, to nearest even, with `low` in the lower half. What lies
// beyond the largest number becomes that number. GPUs have the instruction from sm_89 on (PTX ISA,
// cvt).
__device__ __forceinline__ uint16_t pack_e4m3(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 890
  return static_cast<uint16_t>(to_e4m3(low).bits | to_e4m3(high).bits << 8);
#else
  uint16_t half;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(half) : "f"(high), "f"(low));
  return half;
#endif
}

// The inverse of pack(). It is exact.
template <DType kType>
__device__ __forceinline__ float2 unpack(uint32_t word) {
  static_assert(kType == DType::bf16 || kType == DType::f16, "outputs have 16 bits");
  if constexpr (kType == DType::bf16) {
    return float2{__uint_as_float(word << 16), __uint_as_float(word & 0xFFFF0000)};
  } else {
    float low, high;
    asm("{\n"
        ".reg .b16 l, h;\n"
        "mov.b32 {l, h}, %2;\n"
        "cvt.f32.f16 %0, l;\n"
        "cvt.f32.f16 %1, h;\n"
        "}"
        : "=f"(low), "=f"(high)
        : "r"(word));
    return float2{low, high};
  }
}

// Adds up the parts, each of which is sixteen bytes of 16-bit elements, in fp32 in the order of
// parts, and rounds the sums.
template <DType kType, int kParts>
__device__ __forceinline__ uint4 add_vectors(const uint4 (&parts)[kParts]) {
  const auto sum = [&](uint32_t uint4::*word) {
    float2 pair = unpack<kType>(parts[0].*word);
#pragma unroll
    for (int part = 1; part < kParts; ++part) {
      const float2 other = unpack<kType>(parts[part].*word);
      pair.x += other.x;
      pair.y += other.y;
    }
    return pack<kType>(pair.x, pair.y);
  };
  if constexpr (kParts == 1) return parts[0];
  return {sum(&uint4::x), sum(&uint4::y), sum(&uint4::z), sum(&uint4::w)};
}

}  // namespace tilepost

#endif  // TILEPOST_DEVICE_ELEMENT_CUH
