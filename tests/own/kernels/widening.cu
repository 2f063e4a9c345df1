// A plain kernel whose sums are not rounded to the type of its inputs.
#include <cuda_fp16.h>

__global__ void widening(const __half* a, const __half* b, float* c, int m, int n, int k) {
  const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += __half2float(a[row * k + i]) * __half2float(b[column * k + i]);
  c[row * n + column] = sum;
}
