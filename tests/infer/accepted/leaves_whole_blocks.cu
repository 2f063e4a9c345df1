// tile: 16 16
// threads: 16 16
// grid: linear 7
// shapes: 128x192 64x112
// order: linear_by_rows
// Blocks that have no tile leave with all of their threads.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float held[16][16];
  const int columns = N / 16, tile = blockIdx.x;
  if (tile >= M / 16 * columns || blockIdx.y > 0) return;
  const int row = tile / columns * 16 + threadIdx.y, column = tile % columns * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) {
    __syncthreads();
    held[threadIdx.y][threadIdx.x] = A[row * K + k];
    __syncthreads();
    sum += held[threadIdx.y][0] * B[k * N + column];
  }
  C[row * N + column] = sum;
}
