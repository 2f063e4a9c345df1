// tile: 16 16
// threads: 16 16
// expect: 11: whether this store is reached depends on a comparison of numbers that are not whole
// A number that is not 0 may be 0 in another type.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K, double alpha) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  const bool odd = row % 2, inside = row < M && column < N;
  if (inside && (alpha == 0.0 ? odd : !odd)) C[row * N + column] = sum;
  if (inside && ((float)alpha == 0.0f ? !odd : odd)) C[row * N + column] = sum;
}
