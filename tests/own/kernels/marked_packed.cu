// Weights have eight bits, and each column has a scale. The kernel's blocks take tiles in turn.
#include <cuda_fp16.h>
#include <tilepost/mark.cuh>

#include <cstdint>

__global__ void marked_packed(const half* a, const int8_t* weights, const float* scales, half* c,
                              int m, int n, int k) {
  const tilepost::TileGrid grid{(m + 15) / 16, (n + 15) / 16, 16, 16, 1, 4};
  for (int i = blockIdx.x; i < tilepost::num_tiles(grid); i += gridDim.x) {
    const tilepost::Tile tile = tilepost::tile(grid, i);
    half* const out = tilepost::out_base(c, grid, tile, n);
    const int row = tile.m + threadIdx.y, column = tile.n + threadIdx.x;
    if (row < m && column < n && !tile.is_padding()) {
      float sum = 0;
      for (int j = 0; j < k; ++j)
        sum += __half2float(a[row * k + j]) * static_cast<float>(weights[column * k + j]);
      out[row * n + column] = __float2half(sum * scales[column] * 0.0625f);
    }
    tilepost::tile_done(tile, tilepost::BlockStores{});
  }
}
