// tile: 16 16
// threads: 16 16
// expect: 11: whether this store is reached depends on
// The values of flag and of flag + 1 differ, and neither of them is known.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K, int flag) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  const bool odd = row % 2, inside = row < M && column < N;
  if (inside && (flag == 0 ? odd : !odd)) C[row * N + column] = sum;
  if (inside && (flag + 1 == 0 ? !odd : odd)) C[row * N + column] = sum;
}
