// tile: 3 32
// threads: 96
// order: columns_then_rows
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int column = blockIdx.x * 32 + threadIdx.x % 32;
  int row = blockIdx.y * 3;
  if (column >= N) return;
  switch (threadIdx.x / 32) {
    case 0:
      break;
    case 1:
      row += 1;
      break;
    default:
      row += 2;
  }
  if (row < M) C[row * N + column] = 1;
}
