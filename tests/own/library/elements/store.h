// A library's header, which generated code goes on to include.
#pragma once

#include <cuda_bf16.h>

namespace elements {

__device__ inline void store(__nv_bfloat16* to, float value) {
  *to = __float2bfloat16(value);
}

}  // namespace elements
