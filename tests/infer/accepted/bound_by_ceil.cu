// tile: 16 16
// threads: 16 16
// order: columns_then_rows
#include <cmath>
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  __shared__ float a[16][16];
  const int phases = std::ceil(static_cast<float>(K) / 16);
  const float halves = std::ceil(K / 8.0f);
  float sum = 0;
  for (int i = 0; i < phases; ++i) {
    a[threadIdx.y][threadIdx.x] = A[row % M * K + i];
    __syncthreads();
    for (int j = 0; j < 16; ++j) sum += a[threadIdx.y][j] * B[column % N];
    __syncthreads();
  }
  for (int i = 0; i < halves; ++i) __syncthreads();
  for (int i = 0; i < std::ceil(K / 4.0f); ++i) __syncthreads();
  if (row < M && column < N) C[row * N + column] = sum;
}
