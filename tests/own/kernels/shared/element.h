// This header is found through kernel.include_dirs.
#pragma once

#include <cuda_bf16.h>

using Element = __nv_bfloat16;

__device__ inline float widened(Element x) {
  return __bfloat162float(x);
}
__device__ inline Element narrowed(float x) {
  return __float2bfloat16(x);
}
