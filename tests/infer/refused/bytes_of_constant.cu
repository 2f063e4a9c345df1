// tile: 16 16
// threads: 16 16
// expect: 13: whether this store is reached depends on
union Bytes {
  int whole;
  float real;
};
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K, float alpha) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  Bytes bytes{1};
  if (row >= M || column >= N) return;
  if (alpha == 1.0f) C[row * N + column] = 1;
  if (alpha != bytes.real) C[row * N + column] = 1;
}
