// tile: 16 16
// threads: 16 16
// grid: 4 rows 3
// shapes: 64x192 50x170
// order: table
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int column_tile = blockIdx.z * gridDim.x + blockIdx.x;
  const int row = blockIdx.y * 16 + threadIdx.y, column = column_tile * 16 + threadIdx.x;
  if (column_tile * 16 >= N) return;
  if (row < M)
    if (column < N) C[row * N + column] = 1.0f;
}
