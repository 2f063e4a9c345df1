// tile: 16 16
// threads: 16 16
// expect: 7: depends on a number in a plain char, which has a sign on some hosts alone
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  const char last = 200;
  if (row < M && column < N && last < 0) C[row * N + column] = 1;
}
