// tile: 16 16
// threads: 16 16
// expect: 9: an address is a number here, and what is reached by that cannot be seen
// Half of an address is enough if the other half is known.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  const int distance = (int)(unsigned long long)C - (int)(unsigned long long)A;
  sum += A[distance / 4 + 1];
  if (row < M && column < N) C[row * N + column] = sum;
}
