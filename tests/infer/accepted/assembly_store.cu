// tile: 32 128
// threads: 256
// shapes: 128x256 96x384
// order: columns_then_rows
__device__ __forceinline__ void store4(float* to, float a, float b, float c, float d) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(a), "f"(b), "f"(c), "f"(d)
               : "memory");
}
__device__ __forceinline__ void store1_if(float* to, float value, bool guard) {
  asm volatile("{.reg .pred p;\n setp.ne.b32 p, %2, 0;\n @p st.global.f32 [%0], %1;}" ::"l"(to),
               "f"(value), "r"((int)guard));
}
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const unsigned warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  float* to = C + (blockIdx.y * 32 + warp) * N + (blockIdx.x << 7);
  store4(to + lane * 4, 0, 1, 2, 3);
  store4(to + lane * 4 + 8 * N, 0, 1, 2, 3);
  for (int i = 16; i < 32; i += 8)
    for (int j = 0; j < 4; ++j)
      store1_if(to + i * N + j * 32 + lane, 1.0f, blockIdx.x * 128 + j * 32 + lane < N);
}
