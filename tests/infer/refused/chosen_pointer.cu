// tile: 16 16
// threads: 16 16
// expect: 9: where this store goes depends on which of two pointers is taken
__global__ void gemm(const float* A, float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= M || column >= N) return;
  float* one = C + row * N;
  float* two = B + row * N;
  (threadIdx.x < 15 ? one : two)[column] = 1;
}
