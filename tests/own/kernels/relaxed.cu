// A kernel that calls a function of the host's, which nvcc takes with --expt-relaxed-constexpr.
#include <cuda_fp16.h>

constexpr int doubled(int x) {
  return x * 2;
}

__global__ void relaxed(const half* a, const half* b, half* c, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < doubled(k) / 2; ++i)
    sum += __half2float(a[row * k + i]) * __half2float(b[column * k + i]);
  c[row * n + column] = __float2half(sum);
}
