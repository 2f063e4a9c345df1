// tile: 16 16
// threads: 16 16
// expect: 9: whether this store is reached depends on
// As a float, 16777217 is 16777216.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K, float alpha) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= M || column >= N) return;
  const double same = alpha;
  if (alpha != 16777217) C[row * N + column] = 1;
  if (same == 16777217) C[row * N + column] = 1;
}
