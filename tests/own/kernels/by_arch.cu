// Each architecture has lines of its own, and some of these store elsewhere. A compiler's flag may
// change the tile.
#include <cuda_bf16.h>

#ifndef TILE
#define TILE 16
#endif

__global__ void by_arch(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                        int n, int k) {
  const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += __bfloat162float(a[row * k + i]) * __bfloat162float(b[column * k + i]);
#if __CUDA_ARCH__ >= 900
  c[column * m + row] = __float2bfloat16(sum);
#else
  c[row * n + column] = __float2bfloat16(sum);
#endif
}
