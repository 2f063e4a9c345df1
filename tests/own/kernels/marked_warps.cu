// A persistent kernel whose warps each store a row of a tile, and each signal when their part of
// the tile is done. Marks are in a macro and in a helper function.
#include <cuda_fp16.h>
#include <tilepost/mark.cuh>

#define TILE_ROWS 4
#define TILE_COLUMNS 32
#define OUT(row, column) tilepost::out(c, grid, tile, (row), (column), n)

__device__ void compute(half* c, const half* a, const half* b, const tilepost::TileGrid& grid,
                        const tilepost::Tile& tile, int m, int n, int k) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = tile.m + warp, column = tile.n + lane;
  if (row < m && column < n) {
    float sum = 0;
    for (int i = 0; i < k; ++i)
      sum += __half2float(a[row * k + i]) * __half2float(b[column * k + i]);
    if (!tile.is_padding()) OUT(warp, lane) = __float2half(sum);
  }
  tilepost::tile_done(tile, tilepost::WarpStores{});
}

extern "C" __global__ void warps(half* c, const half* a, const half* b, int m, int n, int k) {
  const tilepost::TileGrid grid{(m + TILE_ROWS - 1) / TILE_ROWS,
                                (n + TILE_COLUMNS - 1) / TILE_COLUMNS,
                                TILE_ROWS,
                                TILE_COLUMNS,
                                1,
                                8};
  for (int i = blockIdx.x; i < tilepost::num_tiles(grid); i += gridDim.x)
    compute(c, a, b, grid, tilepost::tile(grid, i), m, n, k);
}
