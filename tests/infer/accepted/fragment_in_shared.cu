// tile: 16 16
// threads: 32
// shapes: 128x192 64x112
// order: columns_then_rows
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ unsigned short made[16 * 16];
  const unsigned place = __cvta_generic_to_shared(made);
  asm volatile(
      "wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%0], {%1, %1, %1, %1}, %2;" ::"r"(place),
      "r"(0), "r"(16)
      : "memory");
  __syncwarp();
  for (int i = threadIdx.x; i < 16 * 16; i += 32)
    C[(blockIdx.y * 16 + i / 16) * N + blockIdx.x * 16 + i % 16] = made[i];
}
