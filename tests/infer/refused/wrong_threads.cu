// tile: 16 16
// threads: 16 8
// expect: 6: elements of tile (0, 0)
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < M && column < N) C[row * N + column] = 1;
}
