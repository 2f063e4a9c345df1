// tile: 16 16
// threads: 16 16
// expect: 9: operands of this assembly have names
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0, old = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  if (row < M && column < N) {
    asm volatile("ld.global.f32 %[v], [%[p]];" : [v] "=f"(old) : [p] "l"(C + row * N + column));
    C[row * N + column] = sum + old;
  }
}
