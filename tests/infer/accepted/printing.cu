// tile: 16 16
// threads: 16 16
// order: columns_then_rows
#include <cassert>
#include <cstdio>
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  assert(blockDim.x == 16);
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row == 0 && column == 0) printf("C is at %p\n", C);
  if (row < M && column < N) C[row * N + column] = 1;
}
