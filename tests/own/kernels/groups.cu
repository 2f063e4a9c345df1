// Groups of blocks: made, and waited for by some instantiations.
#include <cooperative_groups.h>

template <int kWait>
__global__ void groups(const float* a, const float* b, float* c, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  [[maybe_unused]] auto grid = cooperative_groups::this_grid();
  [[maybe_unused]] auto cluster = cooperative_groups::this_cluster();
  if constexpr (kWait == 1) cooperative_groups::sync(grid);
  if constexpr (kWait == 2) cluster.sync();
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[column * k + i];
  c[row * n + column] = sum;
}
