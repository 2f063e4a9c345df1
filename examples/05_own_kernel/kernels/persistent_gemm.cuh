// The product of tiled_gemm.cuh by blocks that take tiles in turn. Marks say which they take and
// when one is done. They do nothing by themselves: a plain launch computes what it did without.
#pragma once

#include <cuda_bf16.h>
#include <my/multiply.h>
#include <tilepost/mark.cuh>

namespace my {

template <int kRows, int kColumns>
__global__ void __launch_bounds__(kThreads)
    persistent_gemm(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
                    __nv_bfloat16* __restrict__ c, int m, int n, int k) {
  // Tiles down and across, their sides, blocks of a cluster, tile rows that are swept together.
  const tilepost::TileGrid grid{
      (m + kRows - 1) / kRows, (n + kColumns - 1) / kColumns, kRows, kColumns, 1, 8};
  const Place thread = place_of_thread<kColumns>();
  for (int i = blockIdx.x; i < tilepost::num_tiles(grid); i += gridDim.x) {
    const tilepost::Tile tile = tilepost::tile(grid, i);
    __nv_bfloat16* const out = tilepost::out_base(c, grid, tile, n);
    Sums sums;
    multiply<kRows, kColumns>(a, b, {tile.m, tile.n}, m, n, k, sums);
    for (int x = 0; x < kPerThread; ++x)
      for (int y = 0; y < kPerThread; ++y) {
        const int row = tile.m + thread.row + x, column = tile.n + thread.column + y;
        if (row < m && column < n && !tile.is_padding())
          out[row * n + column] = __float2bfloat16(sums[x][y]);
      }
    tilepost::tile_done(tile, tilepost::BlockStores{});
  }
}

}  // namespace my
