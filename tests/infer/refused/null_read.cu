// tile: 16 16
// threads: 16 16
// nulls: bias
// expect: 9: this reads through 'bias', which kernel.arguments gives null
// expect: give it memory, or test it with an if that is decided by the launch alone
__global__ void gemm(const float* A, const float* bias, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= M || column >= N) return;
  C[row * N + column] = A[row] + bias[column];
}
