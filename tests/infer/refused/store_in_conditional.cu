// tile: 16 16
// threads: 16 16
// expect: 10: whether this store is reached depends on
// The second operand may store.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  float zero = A[0];
  zero ?: (C[row * N + column] = sum);
  if (row < M && column < N) C[row * N + column] = sum;
}
