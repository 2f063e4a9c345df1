// tile: 16 16
// threads: 16 16
// expect: 7: where this store goes depends on the value of 'at', which is volatile
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  volatile int at = row * N + column;
  if (row < M && column < N) C[at] = 1;
}
