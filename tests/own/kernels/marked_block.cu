// A kernel whose blocks compute one tile each and end. It does not ask how many tiles there are.
#include <cuda_bf16.h>
#include <tilepost/mark.cuh>

__global__ void one_each(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                         int n, int k) {
  const tilepost::TileGrid grid{(m + 15) / 16, (n + 31) / 32, 16, 32, 1, 2};
  const tilepost::Tile tile = tilepost::tile(grid, blockIdx.x);
  __nv_bfloat16* const out = tilepost::out_base(c, grid, tile, n);
  const int column = tile.n + threadIdx.x;
  for (int row = tile.m + threadIdx.y; row < tile.m + 16 && row < m; row += blockDim.y) {
    if (column >= n || tile.is_padding()) break;
    float sum = 0;
    for (int i = 0; i < k; ++i)
      sum += __bfloat162float(a[row * k + i]) * __bfloat162float(b[column * k + i]);
    out[static_cast<long long>(row) * n + column] = __float2bfloat16(sum);
  }
  tilepost::tile_done(tile, tilepost::BlockStores{});
}
