// tile: 16 16
// threads: 16 16
// expect: 11: whether this store is reached depends on an address
// A pointer that is read from memory may be null, even if it is tested as a number.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  const float* table = ((const float* const*)A)[0];
  if ((unsigned long long)table)
    if (row < M && column < N) C[row * N + column] = sum;
}
