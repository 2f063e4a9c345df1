// tile: 16 16
// threads: 16 16
// expect: 9: a lambda may change what it captured here, and in which copy of it is not followed
// Each copy of the lambda has a count of its own.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  auto first = [count = 0]() mutable { return count++; };
  auto second = first;
  first();
  if (second() == 1)
    if (row < M && column < N) C[row * N + column] = sum;
}
