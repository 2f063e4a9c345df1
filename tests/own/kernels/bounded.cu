// Kernels whose declarations bound their blocks. A launch has to keep to that.
#include <tilepost/mark.cuh>

template <int kMost, int kFloats>
__global__ void __launch_bounds__(kMost)
    bounded(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float row_of_a[kFloats];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  row_of_a[threadIdx.x] = 0;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[column * k + i];
  c[row * n + column] = sum;
}

__global__ void __launch_bounds__(256) __maxnreg__(64)
    both(const float* a, const float* b, float* c, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < m && column < n) c[row * n + column] = a[row * k] * b[column * k];
}

#define MARKED_BODY(cluster)                                                                     \
  const tilepost::TileGrid grid{(m + 15) / 16, (n + 15) / 16, 16, 16, cluster, 8};               \
  for (int i = blockIdx.x; i < tilepost::num_tiles(grid); i += gridDim.x) {                      \
    const tilepost::Tile tile = tilepost::tile(grid, i);                                         \
    float* const out = tilepost::out_base(c, grid, tile, n);                                     \
    const int row = tile.m + threadIdx.y, column = tile.n + threadIdx.x;                         \
    if (row < m && column < n && !tile.is_padding()) out[row * n + column] = a[row] * b[column]; \
    tilepost::tile_done(tile, tilepost::BlockStores{});                                          \
  }

__global__ void __cluster_dims__(2, 1, 1)
    in_pairs(const float* a, const float* b, float* c, int m, int n) {
  MARKED_BODY(2);
}

__global__ void __block_size__((16, 16, 1), (1, 1, 1))
    of_sized_blocks(const float* a, const float* b, float* c, int m, int n) {
  MARKED_BODY(1);
}
