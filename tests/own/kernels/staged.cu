// Uses shared memory of both kinds, barriers and a shuffle, and stores two elements at once.
#include <cuda_fp16.h>

__global__ void __launch_bounds__(128)
    staged(const half* __restrict__ a, const half* __restrict__ b, half* __restrict__ c, int m,
           int n, int k) {
  extern __shared__ float rows[];
  __shared__ float columns[32][17];
  float sums[4] = {};
  const int row0 = blockIdx.x * 16, column0 = blockIdx.y * 32;
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;
  for (int first = 0; first < k; first += 16) {
    for (int i = threadIdx.x; i < 16 * 16; i += 128)
      rows[i] = row0 + i / 16 < m && first + i % 16 < k
                    ? __half2float(a[(row0 + i / 16) * k + first + i % 16])
                    : 0.f;
    for (int i = threadIdx.x; i < 32 * 16; i += 128)
      columns[i / 16][i % 16] = column0 + i / 16 < n && first + i % 16 < k
                                    ? __half2float(b[(column0 + i / 16) * k + first + i % 16])
                                    : 0.f;
    __syncthreads();
    for (int j = 0; j < 4; ++j)
      for (int i = 0; i < 16; ++i) sums[j] += rows[(y * 4 + j) * 16 + i] * columns[x][i];
    __syncthreads();
  }
  for (int j = 0; j < 4; ++j) {
    const float other = __shfl_xor_sync(0xffffffffu, sums[j], 1);
    const int row = row0 + y * 4 + j, column = column0 + x;
    if (x % 2 == 0 && row < m && column < n)
      *reinterpret_cast<half2*>(&c[row * n + column]) = __floats2half2_rn(sums[j], other);
  }
}
