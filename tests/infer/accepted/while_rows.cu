// tile: 32 16
// threads: 16
// order: columns_then_rows
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * 32;
  const int end = row + 32 < M ? row + 32 : M;
  float* to = C + row * N + blockIdx.x * 16 + threadIdx.x;
  if (blockIdx.x * 16 + threadIdx.x >= N) return;
  while (true) {
    if (row >= end) break;
    *to = A[row];
    to += N;
    ++row;
  }
}
