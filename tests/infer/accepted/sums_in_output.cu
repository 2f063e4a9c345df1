// tile: 8 32
// threads: 32 8
// numbers: M m N n K 13000
// order: columns_then_rows
// reads: yes
// It adds to the same places of the output in every turn.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  if (row >= M || column >= N) return;
  float* out = &C[row * N + column];
  *out = 0;
  for (int k = 0; k < K; ++k) {
    *out += A[k], *out += B[k], *out += A[k], *out += B[k];
    *out += A[k], *out += B[k], *out += A[k], *out += B[k];
  }
}
