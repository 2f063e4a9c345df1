// tile: 16 16
// threads: 16 16
// expect: 9: the output may be read here, and which of its elements cannot be seen
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  const float* const sources[2] = {A, C};
  if (row < M && column < N) C[row * N + column] = sum + sources[threadIdx.x & 1][row * N + column];
}
