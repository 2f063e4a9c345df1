// tile: 16 16
// threads: 16 16
// shapes: 64x96 40x50
// expect: 8: at m=64, n=96 block (0, 0), thread (15, 0) reads the output outside of tile (0, 0)
__global__ void gemm(int M, int N, int K, float* A, float* B, float* C) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= M || column >= N) return;
  const float right = column + 1 < N ? C[row * N + column + 1] : 0;
  C[row * N + column] = A[row * K] * B[column] + right;
}
