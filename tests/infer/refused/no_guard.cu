// tile: 16 16
// threads: 16 16
// expect: 7: stores
// expect: the kernel has no guard for tiles that are cut off: say requires: {m: 16, n: 16}
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  C[row * N + column] = 1;
}
