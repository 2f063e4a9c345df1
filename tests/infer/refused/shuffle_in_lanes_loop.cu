// tile: 8 4
// threads: 32
// numbers: M m N n K 50
// expect: 9: thread (18, 0) does not come here, where others wait for it by its name
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 8 + threadIdx.x / 4, column = blockIdx.x * 4 + threadIdx.x % 4;
  float sum = 0;
  for (int k = threadIdx.x; k < K; k += 32) {
    sum += __shfl_sync(0xffffffff, A[k], 0);
  }
  if (row < M && column < N) C[row * N + column] = sum;
}
