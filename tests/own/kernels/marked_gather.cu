// A persistent kernel whose rows of A may arrive while it runs. It marks where a tile begins to
// read them. Each element of a tile has a thread, and rows of A are staged in shared memory.
#include <cuda_bf16.h>
#include <tilepost/mark.cuh>

template <int kTile>
__global__ void __launch_bounds__(kTile* kTile)
    gather(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int n, int k) {
  __shared__ float rows[kTile][kTile];
  const tilepost::TileGrid grid{
      (m + kTile - 1) / kTile, (n + kTile - 1) / kTile, kTile, kTile, 1, 8};
  const int x = threadIdx.x, y = threadIdx.y;
  for (int i = blockIdx.x; i < tilepost::num_tiles(grid); i += gridDim.x) {
    const tilepost::Tile tile = tilepost::tile(grid, i);
    __nv_bfloat16* const out = tilepost::out_base(c, grid, tile, n);
    const int row = tile.m + y, column = tile.n + x;
    float sum = 0;
    tilepost::input_ready(tile, tilepost::BlockLoads{});
    for (int from = 0; from < k; from += kTile) {
      rows[y][x] = row < m && from + x < k ? __bfloat162float(a[row * k + from + x]) : 0;
      __syncthreads();
      for (int j = 0; j < kTile && from + j < k && column < n; ++j)
        sum += rows[y][j] * __bfloat162float(b[column * k + from + j]);
      __syncthreads();
    }
    if (row < m && column < n && !tile.is_padding())
      out[static_cast<long long>(row) * n + column] = __float2bfloat16(sum);
    tilepost::tile_done(tile, tilepost::BlockStores{});
  }
}
