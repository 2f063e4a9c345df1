// Kernels whose blocks do not compute tiles, or whose tiles may not be moved.
#include <cuda_bf16.h>

__global__ void reads_neighbour(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                                int m, int n, int k, float beta) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = beta * __bfloat162float(c[row * n + (column + 1) % n]);
  for (int i = 0; i < k; ++i)
    sum += __bfloat162float(a[row * k + i]) * __bfloat162float(b[column * k + i]);
  c[row * n + column] = __float2bfloat16(sum);
}

__global__ void transposed(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                           int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += __bfloat162float(a[row * k + i]) * __bfloat162float(b[column * k + i]);
  c[column * m + row] = __float2bfloat16(sum);
}

__global__ void unguarded(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                          int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += __bfloat162float(a[row * k + i]) * __bfloat162float(b[column * k + i]);
  c[row * n + column] = __float2bfloat16(sum);
}

// This is right at most values of m, but not at all.
__global__ void at_some_rows(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                             int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += __bfloat162float(a[row * k + i]) * __bfloat162float(b[column * k + i]);
  c[row * n + column] = __float2bfloat16(sum);
  if (m > 100 && m < 200) c[0] = __float2bfloat16(sum);
}

// Multiplies whole numbers.
__global__ void whole_numbers(const int* a, const int* b, int* c, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || column >= n) return;
  int sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[column * k + i];
  c[row * n + column] = sum;
}
