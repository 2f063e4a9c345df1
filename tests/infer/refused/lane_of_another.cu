// tile: 1 32
// threads: 32
// expect: 7: stores 1 of the 32 elements
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int column = blockIdx.x * 32 + __shfl_sync(0xffffffff, threadIdx.x, 1);
  if (column >= N) return;
  C[blockIdx.y * N + column] = A[blockIdx.y * K] * B[column];
}
