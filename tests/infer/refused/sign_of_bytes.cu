// tile: 16 16
// threads: 16 16
// expect: 9: no block stores tile
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  int below = row - M;
  const unsigned& above = reinterpret_cast<unsigned&>(below);
  if (row >= M || column >= N || above > 5u) return;
  C[row * N + column] = 1;
}
