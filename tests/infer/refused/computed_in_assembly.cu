// tile: 16 16
// threads: 16 16
// expect: 6: assembly computes with the output's address
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  asm volatile(
      "{.reg .b64 t; add.u64 t, %0, 64;\nst.global.f32 [t], %1;}" ::"l"(C + row * N + column),
      "f"(1.0f));
}
