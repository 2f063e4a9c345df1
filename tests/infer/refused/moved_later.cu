// tile: 16 16
// threads: 16 16
// expect: 12: stores
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  int shift = 0;
  const float* from = A;
  for (int i = 0; i < 3; ++i) {
    shift += i;
    from += i;
  }
  if (row < M && column < N) C[row * N + column + shift] = *from;
}
