// tile: 16 16
// threads: 16 16
// expect: 8: '__brkpt' ends the kernel here
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  if (sum != sum) __brkpt();
  if (row < M && column < N) C[row * N + column] = sum;
}
