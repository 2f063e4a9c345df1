// tile: 16 16
// threads: 16 16
// expect: 8: assembly jumps around 'bar.sync'
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K && row < M && column < N; ++k) sum += A[row * K + k] * B[k * N + column];
  asm volatile("{ .reg .pred p; setp.ne.s32 p, %0, 0; @p bra BEHIND; bar.sync 0; BEHIND: }" ::"r"(
      threadIdx.x));
  if (row < M && column < N) C[row * N + column] = sum;
}
