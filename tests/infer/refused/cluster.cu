// tile: 16 16
// threads: 16 16
// expect: 5: blocks of a cluster work together here
__global__ void __cluster_dims__(2, 1, 1)
    gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < M && column < N) C[row * N + column] = 1;
}
