// tile: 16 16
// threads: 16 16
// expect: 7: whether this store is reached depends on
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (A[row] > 0) return;
  if (row < M && column < N) C[row * N + column] = 1;
}
