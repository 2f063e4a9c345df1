// A plain kernel: a thread for every element, a block for every tile.
#include <cuda_bf16.h>

namespace lib {

template <int kTile>
__global__ void __launch_bounds__(kTile* kTile)
    tiled(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int n, int k) {
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += __bfloat162float(a[row * k + i]) * __bfloat162float(b[column * k + i]);
  c[row * n + column] = __float2bfloat16(sum);
}

}  // namespace lib
