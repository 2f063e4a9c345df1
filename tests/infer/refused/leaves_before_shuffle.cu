// tile: 8 4
// threads: 32
// expect: 9: does not come here, where others wait for all that are left
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 8 + threadIdx.x / 4, column = blockIdx.x * 4 + threadIdx.x % 4;
  if (row >= M || column >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) {
    sum += __shfl_sync(0xffffffff, A[row * K + k], 0) * B[k * N + column];
  }
  C[row * N + column] = sum;
}
