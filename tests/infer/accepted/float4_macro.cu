// tile: 64 64
// threads: 16 16
// shapes: 128x192 192x64
// order: columns_then_rows
#define OFFSET(row, col, ld) ((row) * (ld) + (col))
#define FLOAT4(x) (reinterpret_cast<float4*>(&(x))[0])
__global__ void gemm(float* __restrict__ A, float* __restrict__ B, float* __restrict__ C, int M,
                     int N, int K) {
  const int tx = threadIdx.x, ty = threadIdx.y;
  float accum[4][4] = {0};
  for (int k = 0; k < K; ++k) {
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j)
        accum[i][j] += A[OFFSET(blockIdx.y * 64 + ty * 4 + i, k, K)] *
                       B[OFFSET(k, blockIdx.x * 64 + tx * 4 + j, N)];
  }
  for (int i = 0; i < 4; i++) {
    FLOAT4(C[OFFSET(blockIdx.y * 64 + ty * 4 + i, blockIdx.x * 64 + tx * 4, N)]) =
        FLOAT4(accum[i][0]);
  }
}
