// From a kernel's ELEMENT tunable to the CUDA type and its conversion from fp32.
#ifndef TILEPOST_DEVICE_ELEMENT_CUH
#define TILEPOST_DEVICE_ELEMENT_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "tilepost/mark.cuh"

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

// __nv_bfloat16 or __half.
template <DType kType>
using DeviceElement = typename DeviceElementOf<kType>::Type;

// Two values rounded to nearest even, `low` in the lower half: two neighbours of a row in one word.
template <DType kType>
__device__ __forceinline__ uint32_t pack(float low, float high) {
  uint32_t word;
  if constexpr (kType == DType::bf16)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}

}  // namespace tilepost

#endif  // TILEPOST_DEVICE_ELEMENT_CUH
