// tile: 16 16
// threads: 16 16
// expect: 5: 'put' calls itself
__device__ void put(float* to, int r, int c, int M, int N) {
  if (r < M) put(to, r + 1, c, M, N);
}
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  put(C, row, column, M, N);
}
