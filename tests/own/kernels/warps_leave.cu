// Each warp has eight rows. Warps behind the last row leave, and the others go on waiting for each
// other: CUDA's barriers wait only for threads that have not left.
__global__ void __launch_bounds__(128)
    warps_leave(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float held[4][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int first = blockIdx.y * 32 + warp * 8, column = blockIdx.x * 32 + lane;
  if (first >= m) return;
  for (int i = 0; i < 8; ++i) {
    const int row = first + i;
    float sum = 0;
    for (int j = 0; j < k; ++j)
      if (row < m && column < n) sum += a[row * k + j] * b[column * k + j];
    __syncthreads();
    held[warp][lane] = sum;
    __syncthreads();
    if (row < m && column < n) c[row * n + column] = held[warp][lane];
  }
}
