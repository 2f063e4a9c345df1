// tile: 16 16
// threads: 4 16
// shapes: 64x96 48x80
// order: columns_then_rows
// reads: yes
__global__ void gemm(int M, int N, int K, float* A, float* B, float* C) {
  float4 old;
  float* const place = &C[(blockIdx.y * 16 + threadIdx.y) * N + blockIdx.x * 16 + threadIdx.x * 4];
  asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(old.x), "=f"(old.y), "=f"(old.z), "=f"(old.w)
               : "l"(place));
  old.x += A[0] * B[0];
  *reinterpret_cast<float4*>(place) = old;
}
