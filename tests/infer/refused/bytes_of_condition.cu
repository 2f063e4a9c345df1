// tile: 16 16
// threads: 16 16
// expect: 13: whether this store is reached depends on
union Bytes {
  float real;
  int whole;
};
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K, float alpha) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  Bytes bytes{alpha};
  if (row >= M || column >= N) return;
  if (alpha == 1) C[row * N + column] = 1;
  if (bytes.whole != 1) C[row * N + column] = 1;
}
