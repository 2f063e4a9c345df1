// tile: 16 16
// threads: 16 16
// expect: 11: stores
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  int offset = row * N + column;
  {
    int offset_ = 5;
    offset += offset_;
  }
  if (row < M && column < N) C[offset] = 1;
}
