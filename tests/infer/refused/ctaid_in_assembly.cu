// tile: 16 16
// threads: 16 16
// expect: 7: assembly reads %ctaid
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  unsigned block;
  asm("mov.u32 %0, %%ctaid.x;" : "=r"(block));
  if (row < M && column < N) C[row * N + block * 16 + threadIdx.x] = 1;
}
