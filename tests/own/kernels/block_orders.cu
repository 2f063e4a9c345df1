// Kernels whose blocks take their tiles along different axes of the grid.
#include <cuda_bf16.h>

// 0: x is the tile's column, z its row; 1: x is its row, z its column; 2: y is its row, z its
// column; 3: tiles are numbered by rows, and three of them lie along x.
template <int kOrder>
__device__ int2 tile_of_block(int columns) {
  switch (kOrder) {
    case 0:
      return {static_cast<int>(blockIdx.z), static_cast<int>(blockIdx.x)};
    case 1:
      return {static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.z)};
    case 2:
      return {static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.z)};
    default: {
      const int number = blockIdx.y * gridDim.x + blockIdx.x;
      return {number / columns, number % columns};
    }
  }
}

template <int kOrder>
__global__ void block_orders(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                             int m, int n, int k) {
  const int2 tile = tile_of_block<kOrder>((n + 15) / 16);
  const int row = tile.x * 16 + threadIdx.y, column = tile.y * 16 + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += __bfloat162float(a[row * k + i]) * __bfloat162float(b[column * k + i]);
  c[row * n + column] = __float2bfloat16(sum);
}
