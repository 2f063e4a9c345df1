// tile: 16 16
// threads: 16 16
// expect: 6: assembly jumps around a store
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %2, 0;\n@p bra L;\nst.global.f32 [%0], %1;\nL:}" ::"l"(
          C + row * N + column),
      "f"(1.0f), "r"(row));
}
