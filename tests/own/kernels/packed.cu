// Weights have four bits, packed in eights. Every 32 weights have a scale and a zero.
#include <cuda_fp16.h>

#include <cstdint>

constexpr int kGroup = 32;

// Weight i of a row: (q - zero) * scale.
__device__ float weight(const uint32_t* packed, const half* scales, const uint8_t* zeros, int row,
                        int i, int k) {
  const int groups = k / kGroup;
  const uint32_t q = packed[(row * k + i) / 8] >> (i % 8 * 4) & 15;
  const int zero = zeros != nullptr ? zeros[row * groups + i / kGroup] & 15 : 8;
  return static_cast<float>(static_cast<int>(q) - zero) *
         __half2float(scales[row * groups + i / kGroup]);
}

__global__ void __launch_bounds__(256)
    packed(const half* __restrict__ a, const uint32_t* __restrict__ qweight,
           const half* __restrict__ scales, const uint8_t* __restrict__ zeros,
           const half* __restrict__ bias, half* __restrict__ c, int m, int n, int k) {
  __shared__ float rows[16][kGroup], columns[16][kGroup];
  const int row0 = blockIdx.y * 16, column0 = blockIdx.x * 16;
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  float sum = bias != nullptr && column0 + x < n ? __half2float(bias[column0 + x]) : 0.f;
  for (int first = 0; first < k; first += kGroup) {
    for (int i = x; i < kGroup; i += 16) {
      rows[y][i] = row0 + y < m ? __half2float(a[(row0 + y) * k + first + i]) : 0.f;
      columns[y][i] =
          column0 + y < n ? weight(qweight, scales, zeros, column0 + y, first + i, k) : 0.f;
    }
    __syncthreads();
    for (int i = 0; i < kGroup; ++i) sum += rows[y][i] * columns[x][i];
    __syncthreads();
  }
  if (row0 + y < m && column0 + x < n) c[(row0 + y) * n + column0 + x] = __float2half(sum);
}
