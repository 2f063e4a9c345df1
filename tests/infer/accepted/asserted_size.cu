// tile: 16 16
// threads: 16 16
// order: columns_then_rows
// The text of a static_assert is a literal without a type, and what names it is computed by Clang.
template <int value>
__device__ constexpr int checked() {
  static_assert(value > 0, "a tile has rows");
  return value;
}

__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * checked<16>() + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  if (row < M && column < N) C[row * N + column] = sum;
}
