// tile: 8 4
// threads: 32
// expect: 7: thread (24, 0) does not come here, where others wait for it by its name
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 8 + threadIdx.x / 4, column = blockIdx.x * 4 + threadIdx.x % 4;
  float sum = 0;
  if (threadIdx.x < 24) sum = __shfl_sync(0xff0000ff, A[row], 0);
  if (row < M && column < N) C[row * N + column] = sum;
}
