// tile: 16 16
// threads: 32
// expect: 7: the instruction 'wmma.store.d.sync.aligned.row.m16n16k16.global.f16' is not known here
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16, column = blockIdx.x * 16;
  float* to = C + row * N + column;
  asm volatile(
      "wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%0], {%1, %1, %1, %1}, %2;" ::"l"(to),
      "r"(0), "r"(N));
}
