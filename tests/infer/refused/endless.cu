// tile: 16 16
// threads: 16 16
// expect: 6: this loop has more than 20000 turns
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  for (int i = 0; i < 1 << 30; ++i) C[row * N + column] = i;
}
