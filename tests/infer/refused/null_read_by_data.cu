// tile: 16 16
// threads: 16 16
// nulls: zeros
// expect: 10: this reads through 'zeros', which kernel.arguments gives null
__global__ void gemm(const float* A, const float* zeros, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= M || column >= N) return;
  float sum = 0;
  const float* of_column = zeros + column;
  for (int i = 0; i < K; ++i) sum += A[row * K + i] > 0 ? of_column[i * N] : 1.0f;
  C[row * N + column] = sum;
}
