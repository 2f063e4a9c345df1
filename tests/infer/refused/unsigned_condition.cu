// tile: 16 16
// threads: 16 16
// expect: 8: whether this store is reached depends on
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K, int flag) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= M || column >= N) return;
  if (flag < 1) C[row * N + column] = 1;
  if (!(static_cast<unsigned>(flag) < 1u)) C[row * N + column] = 1;
}
