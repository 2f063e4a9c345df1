// tile: 16 16
// threads: 16 16
// expect: 10: an address is a number here, and what is reached by that cannot be seen
// The distance from a variable leads to the output, too.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  float own;
  const unsigned long long distance = (unsigned long long)C - (unsigned long long)&own;
  *(float*)((unsigned long long)&own + distance) = sum;
  if (row < M && column < N) C[row * N + column] = sum;
}
