// tile: 64 64
// threads: 64
// shapes: 128x192 192x64
// order: columns_then_rows
__global__ void __launch_bounds__(64)
    gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  constexpr int kRows = 8, kColumns = 8;
  const int first_row = threadIdx.x / 8 * kRows, first_column = threadIdx.x % 8 * kColumns;
  C = &C[blockIdx.y * 64 * N + blockIdx.x * 64];
  float sums[kRows][kColumns] = {0.0f};
  float left[kRows], right[kColumns];
  for (int k = 0; k < K; ++k) {
    for (int i = 0; i < kRows; ++i) left[i] = A[(blockIdx.y * 64 + first_row + i) * K + k];
    for (int j = 0; j < kColumns; ++j) right[j] = B[k * N + blockIdx.x * 64 + first_column + j];
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kColumns; ++j) sums[i][j] += left[i] * right[j];
    }
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) C[(first_row + i) * N + first_column + j] = sums[i][j];
  }
}
