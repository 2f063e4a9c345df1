// The lie: a tile is done before a lambda is called that stores it. The lambda is defined earlier.
// caught by: weave: the tile is stored here, behind its tile_done
#include <cuda_bf16.h>
#include <tilepost/mark.cuh>

__device__ float product(const __nv_bfloat16* a, const __nv_bfloat16* b, int row, int column,
                         int k) {
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += __bfloat162float(a[row * k + i]) * __bfloat162float(b[column * k + i]);
  return sum;
}

__global__ void lie(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int n,
                    int k) {
  const tilepost::TileGrid grid{(m + 15) / 16, (n + 15) / 16, 16, 16, 1, 4};
  for (int i = blockIdx.x; i < tilepost::num_tiles(grid); i += gridDim.x) {
    const tilepost::Tile tile = tilepost::tile(grid, i);
    __nv_bfloat16* const out = tilepost::out_base(c, grid, tile, n);
    const int row = tile.m + threadIdx.y, column = tile.n + threadIdx.x;
    const auto store = [&] {
      if (row < m && column < n)
        out[row * n + column] = __float2bfloat16(product(a, b, row, column, k));
    };
    tilepost::tile_done(tile, tilepost::BlockStores{});
    store();
  }
}
