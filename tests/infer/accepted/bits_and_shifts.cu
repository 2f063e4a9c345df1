// tile: 64 32
// threads: 128
// shapes: 128x192 192x96
// order: columns_then_rows
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int t = threadIdx.x;
  const int g = t >> 2 & 7, q = t & 3, warp = t >> 5;
  for (int i = 0; i < 4; ++i) {
    const int column = (i ^ warp & 3) << 3 | q << 1;
    float2* to = (float2*)(C + (blockIdx.y * 64 + warp * 16 + g) * N + blockIdx.x * 32 + column);
    *to = make_float2(0, 1);
    *(float2*)((char*)to + 8 * N * sizeof(float)) = make_float2(2, 3);
  }
}
