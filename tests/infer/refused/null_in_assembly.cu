// tile: 16 16
// threads: 16 16
// nulls: flag
// expect: 9: this reads through 'flag', which kernel.arguments gives null
__global__ void gemm(const float* A, const int* flag, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= M || column >= N) return;
  int state;
  asm volatile("ld.global.s32 %0, [%1];" : "=r"(state) : "l"(flag + blockIdx.x));
  C[row * N + column] = A[row] + state;
}
