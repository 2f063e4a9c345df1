// Adds a bias to its columns where the pointer to it is not null.
#include <cuda_bf16.h>

__global__ void biased(const __nv_bfloat16* a, const __nv_bfloat16* b,
                       const float* __restrict__ bias, __nv_bfloat16* c, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = bias != nullptr ? bias[column] : 0.f;
  for (int i = 0; i < k; ++i)
    sum += __bfloat162float(a[row * k + i]) * __bfloat162float(b[column * k + i]);
  c[row * n + column] = __float2bfloat16(sum);
}
