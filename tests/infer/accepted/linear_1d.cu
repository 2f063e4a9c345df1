// tile: 1 256
// threads: 256
// shapes: 64x600 7x300
// grid: linear
// order: linear_by_rows
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int columns = (N + 255) / 256;
  const int row = blockIdx.x / columns;
  const int col = blockIdx.x % columns * 256 + threadIdx.x;
  if (col >= N) return;
  float sum = 0;
  for (int k = 0; k < K; k++) sum += A[row * K + k] * B[k * N + col];
  C[(size_t)row * N + col] = sum;
}
