// tile: 16 16
// threads: 16 16
// expect: 10: the output is read as memory that the kernel does not change
// When woven, a block clears its tile first, and a load of this kind may miss that.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= M || column >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  C[row * N + column] = sum + __ldg(&C[row * N + column]);
}
