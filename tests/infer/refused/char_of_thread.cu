// tile: 16 16
// threads: 16 16
// expect: 8: depends on a number in a plain char, which has a sign on some hosts alone
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  char at = threadIdx.y * 16 + threadIdx.x;
  const int offset = at >= 0 ? 0 : 0 * at + (at < 0 ? 0 : N);
  if (row < M && column < N && at + 128 >= 0) C[row * N + column + offset] = 1;
}
