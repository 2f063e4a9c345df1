// tile: 16 16
// threads: 16 16
// expect: 6: stores into tiles (0, 0) and (0, 1) of 16x16
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < M && column < N) C[row * N + column + (threadIdx.x == 15 ? 1 : 0)] = 1;
}
