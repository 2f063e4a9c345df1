// tile: 16 16
// threads: 16 16
// expect: 8: whether all threads of a block come to this barrier depends on
#include <cmath>
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  const float turns = std::ceil(static_cast<float>(threadIdx.x) / 3);
  for (int i = 0; i < turns; ++i) __syncthreads();
  if (row < M && column < N) C[row * N + column] = 1;
}
