// tile: 16 16
// threads: 16 16
// expect: 6: assembly ends the kernel
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row == 7) asm volatile("trap;");
  if (row < M && column < N) C[row * N + column] = 1;
}
