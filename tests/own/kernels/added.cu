// A matrix of its own is added to the product; a batch of products; a factor in half.
#include <cuda_fp16.h>

__global__ void added(const float* a, const float* b, const float* c, float* d, int m, int n, int k,
                      float alpha, float beta) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[column * k + i];
  d[row * n + column] = alpha * sum + beta * c[row * n + column];
}

__global__ void batched(const float* const* a, const float* const* b, float* const* d, int n,
                        int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[blockIdx.z][row * k + i] * b[blockIdx.z][column * k + i];
  d[blockIdx.z][row * n + column] = sum;
}

__global__ void scaled(float* d, int n, __half alpha) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  d[row * n + column] = __half2float(alpha);
}
