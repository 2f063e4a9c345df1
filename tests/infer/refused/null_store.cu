// tile: 16 16
// threads: 16 16
// nulls: largest
// expect: 9: this stores through 'largest', which kernel.arguments gives null
__global__ void gemm(const float* A, float* largest, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= M || column >= N) return;
  C[row * N + column] = A[row];
  if (threadIdx.x == 0 && threadIdx.y == 0) largest[blockIdx.x] = A[row];
}
