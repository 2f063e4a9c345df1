// tile: 16 16
// threads: 16 16
// order: columns_then_rows
// One of two inputs is chosen by bits of their distance. Neither is stored to.
#define SELECT(flag, x, y) (((-(flag)) & ((x) - (y))) + (y))

__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  const float* const first = SELECT(blockIdx.x % 2 != 0, B, A);
  float sum = first[0];
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  if (row < M && column < N) C[row * N + column] = sum;
}
