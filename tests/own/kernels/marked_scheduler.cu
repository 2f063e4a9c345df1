// A persistent kernel whose tiles come from a scheduler object in a header, and that stores through
// a lambda: a thread for every element of a tile.
#include <cuda_bf16.h>

#include "lib/tile_scheduler.h"

namespace lib {

template <int kTile>
__global__ void __launch_bounds__(kTile* kTile)
    scheduled(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int n,
              int k) {
  TileScheduler<kTile, kTile> scheduler(m, n);
  tilepost::Tile tile;
  while (scheduler.next(tile)) {
    __nv_bfloat16* const out = tilepost::out_base(c, scheduler.grid(), tile, n);
    const int row = tile.m + threadIdx.y, column = tile.n + threadIdx.x;
    const auto store = [&](float sum) {
      if (row < m && column < n && !tile.is_padding())
        out[static_cast<long long>(row) * n + column] = __float2bfloat16(sum);
    };
    float sum = 0;
    if (row < m && column < n)
      for (int i = 0; i < k; ++i)
        sum += __bfloat162float(a[row * k + i]) * __bfloat162float(b[column * k + i]);
    store(sum);
    tilepost::tile_done(tile, tilepost::BlockStores{});
  }
}

}  // namespace lib
