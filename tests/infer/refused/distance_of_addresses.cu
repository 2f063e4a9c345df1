// tile: 16 16
// threads: 16 16
// expect: 9: an address is a number here, and what is reached by that cannot be seen
// The distance between two addresses as numbers leads to the output, too.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  const long long distance = ((unsigned long long)C - (unsigned long long)A) / 4;
  sum += A[distance + 1];
  if (row < M && column < N) C[row * N + column] = sum;
}
