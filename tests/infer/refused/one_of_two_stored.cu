// tile: 16 16
// threads: 16 16
// expect: 10: this stores into 'B', which is not the output
__global__ void gemm(const float* A, float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  float own = 0;
  float& copy = A[0] < 0 ? own : B[row * N + column];
  copy = sum;
  if (row < M && column < N) C[row * N + column] = sum;
}
