// tile: 16 16
// threads: 16 16
// order: columns_then_rows
// reads: yes
__global__ void gemm(const float* A, const float* bias, float* C, int M, int N, int K, float beta) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= M || column >= N) return;
  if (beta == 0.0f) {
    C[row * N + column] = A[row];
  } else {
    C[row * N + column] = A[row] + beta * C[row * N + column];
  }
  if (bias != nullptr) C[row * N + column] = bias[column];
}
