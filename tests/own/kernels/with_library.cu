// A kernel with marks. A library stores its output.
#include <cuda_bf16.h>

#define HALVED 1
#if HALVED
#define ELEMENTS_HALVED  // the library's header asks for it
#endif
#include <elements/store.h>
#include <tilepost/mark.cuh>

// The author's own part of the library's namespace.
namespace elements {

__device__ inline void store_half(__nv_bfloat16* to, float value) {
  static_assert(kScale == 0.5f, "the header is read with its macro");
  store(to, value * kScale);
}

}  // namespace elements

template <int kTile>
__global__ void with_library(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                             int m, int n, int k) {
  const tilepost::TileGrid grid{
      (m + kTile - 1) / kTile, (n + kTile - 1) / kTile, kTile, kTile, 1, 8};
  const tilepost::Tile tile = tilepost::tile(grid, blockIdx.x);
  const int row = tile.m + threadIdx.y, column = tile.n + threadIdx.x;
  if (row < m && column < n && !tile.is_padding()) {
    float sum = 0;
    for (int i = 0; i < k; ++i)
      sum += __bfloat162float(a[row * k + i]) * __bfloat162float(b[column * k + i]);
#ifdef STORE_AROUND_THE_MARK
    elements::store(c + row * n + column, sum);
#else
    elements::store_half(tilepost::out_base(c, grid, tile, n) + row * n + column, sum);
#endif
  }
  tilepost::tile_done(tile, tilepost::BlockStores{});
}
