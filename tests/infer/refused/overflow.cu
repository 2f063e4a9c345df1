// tile: 16 16
// threads: 16 16
// expect: 6: where this store goes depends on arithmetic that overflows
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < M && column < N) C[(row * 100000000) / 100000000 * N + column] = 1;
}
