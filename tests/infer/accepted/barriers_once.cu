// tile: 16 16
// threads: 16 16
// order: columns_then_rows
// once: yes
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ unsigned long long barrier;
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(1));
  for (int k = 0; k < K; ++k) {
    asm volatile(
        "{\n.reg .pred P1;\nLAB_WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n@P1 "
        "bra DONE;\n"
        "bra LAB_WAIT;\nDONE:\n}" ::"r"(at),
        "r"(k & 1));
  }
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < M && column < N) C[row * N + column] = 1;
}
