// tile: 16 16
// threads: 16 16
// expect: 8: does not come here, where others wait
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= M || column >= N) return;
  int other;
  asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, 0xffffffff;" : "=r"(other) : "r"(row));
  float sum = other;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  C[row * N + column] = sum;
}
