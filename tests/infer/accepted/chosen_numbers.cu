// tile: 16 16
// threads: 16 16
// shapes: 128x192 70x101
// order: columns_then_rows
// The limits are chosen between variables.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  int last_row = blockIdx.y * 16 + 16, last_column = blockIdx.x * 16 + 16;
  last_row = last_row < M ? last_row : M;
  last_column = (last_column > N) ? N : (last_column < N ? last_column : N);
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < last_row && column < last_column) {
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
    C[row * N + column] = sum;
  }
}
