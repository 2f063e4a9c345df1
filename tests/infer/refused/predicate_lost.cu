// tile: 16 16
// threads: 16 16
// expect: 6: whether this store is reached depends on
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  asm volatile("{.reg .pred p; setp.lt.f32 p, %2, %1;\n@p st.global.f32 [%0], %1;}" ::"l"(
                   C + row * N + column),
               "f"(1.0f), "f"(A[0]));
}
