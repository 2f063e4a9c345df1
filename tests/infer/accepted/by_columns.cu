// tile: 8 32
// threads: 32 8
// grid: linear
// order: linear_by_columns
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int rows = (M + 7) / 8;
  const int row = blockIdx.x % rows * 8 + threadIdx.y;
  const int column = blockIdx.x / rows * 32 + threadIdx.x;
  float sum = 0;
  if (row < M && column < N) {
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
    C[row * N + column] = sum;
  }
}
