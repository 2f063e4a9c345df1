// tile: 16 16
// threads: 16 16
// expect: 7: blocks wait for each other or add to one tile here (red.release.gpu.global.add.s32)
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K, int* locks) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < M && column < N) C[row * N + column] = 1;
  asm volatile("red.release.gpu.global.add.s32 [%0], %1;" ::"l"(locks), "r"(1));
}
