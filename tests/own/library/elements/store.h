// A library's header. Generated code goes on including it.
#pragma once

#include <cuda_bf16.h>

namespace elements {

#ifdef ELEMENTS_HALVED
constexpr float kScale = 0.5f;
#else
constexpr float kScale = 1.0f;
#endif

__device__ inline void store(__nv_bfloat16* to, float value) {
  *to = __float2bfloat16(value);
}

}  // namespace elements
