// tile: 32 64
// threads: 128
// shapes: 128x192 96x64
// order: columns_then_rows
// reads: yes
__global__ void gemm(int M, int N, int K, float alpha, float* A, float* B, float beta, float* C) {
  const unsigned column = threadIdx.x % 16, row = threadIdx.x / 16;
  C += blockIdx.y * 32 * N + blockIdx.x * 64;
  float sums[16] = {0.0};
  for (unsigned r = 0; r < 4; r += 1) {
    float4 old = reinterpret_cast<float4*>(&C[(row * 4 + r) * N + column * 4])[0];
    old.x = alpha * sums[r * 4] + beta * old.x;
    old.y = alpha * sums[r * 4 + 1] + beta * old.y;
    old.z = alpha * sums[r * 4 + 2] + beta * old.z;
    old.w = alpha * sums[r * 4 + 3] + beta * old.w;
    reinterpret_cast<float4*>(&C[(row * 4 + r) * N + column * 4])[0] = old;
  }
}
