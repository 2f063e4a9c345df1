// tile: 24 40
// threads: 96
// order: columns_then_rows
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float tile[24][40];
  for (int i = threadIdx.x; i < 24 * 40; i += blockDim.x) tile[i / 40][i % 40] = A[i];
  __syncthreads();
  for (int i = threadIdx.x; i < 24 * 40; i += blockDim.x) {
    const int row = blockIdx.y * 24 + i / 40, column = blockIdx.x * 40 + i % 40;
    if (row >= M || column >= N) continue;
    C[row * N + column] = tile[i / 40][i % 40];
  }
}
