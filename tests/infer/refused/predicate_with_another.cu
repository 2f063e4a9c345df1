// tile: 16 16
// threads: 16 16
// expect: 9: whether this store is reached depends on a predicate of the assembly
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  if (row < M && column < N)
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %2, 0; elect.sync _|p, 0xffffffff; @p st.global.f32 [%0], "
        "%1; }" ::"l"(C + row * N + column),
        "f"(sum), "r"(1));
}
