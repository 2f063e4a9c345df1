// tile: 16 16
// threads: 16 16
// shapes: 512x64
// expect: 8: both store tile
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  const unsigned char narrow = row;
  if (row < M && column < N) C[narrow * N + column] = 1;
}
