// tile: 16 16
// threads: 16 16
// expect: 10: no block stores tile
// The digits that identify a float among all floats are those of another double.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K, float alpha) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= M || column >= N) return;
  const double same = alpha;
  if (alpha != 1.1f) C[row * N + column] = 1;
  if (same == 1.10000002) C[row * N + column] = 1;
}
