// A kernel without marks. A library stores its output, a column too far with STORE_ONE_COLUMN_ON.
#include <cuda_bf16.h>
#include <elements/store.h>

__global__ void stores_by_library(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                                  int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += __bfloat162float(a[row * k + i]) * __bfloat162float(b[column * k + i]);
#ifdef STORE_ONE_COLUMN_ON
  elements::store(c + row * n + column + 1, sum);
#else
  elements::store(c + row * n + column, sum);
#endif
}
