// tile: 16 16
// threads: 16 16
// expect: 12: what is run when 'last' ends is not followed
__device__ void finish(float** at) {
  **at = 1;
}
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K && row < M && column < N; ++k) sum += A[row * K + k] * B[k * N + column];
  if (row < M && column < N) C[row * N + column] = sum;
  __attribute__((cleanup(finish))) float* last = C;
}
