// The kernel records in its user data which tiles are done.
#include <cuda_fp16.h>

__global__ void stores_user_data(const half* a, const half* b, half* c, int* done, int m, int n,
                                 int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += __half2float(a[row * k + i]) * __half2float(b[column * k + i]);
  c[row * n + column] = __float2half(sum);
  if (threadIdx.x == 0 && threadIdx.y == 0) done[blockIdx.y * gridDim.x + blockIdx.x] = 1;
}
