// tile: 16 16
// threads: 16 16
// expect: 7: the instruction 'multimem.st.global.f32' is not known here
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < M && column < N) C[row * N + column] = 1;
  asm volatile("multimem.st.global.f32 [%0], %1;" ::"l"(C), "f"(1.0f));
}
