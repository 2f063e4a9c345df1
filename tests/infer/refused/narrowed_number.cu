// tile: 16 16
// threads: 16 16
// expect: 9: whether this store is reached depends on
// 1 + 2^-40 is 1 as a float, and not as a double.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K, double alpha) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= M || column >= N) return;
  if (alpha == 1.0) C[row * N + column] = 1;
  if (static_cast<float>(alpha) != 1.0f) C[row * N + column] = 1;
}
