// tile: 16 16
// threads: 16 16
// expect: 8: through a pointer that may point anywhere
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float* places[2] = {C, C + 16};
  float* to = places[threadIdx.x % 2];
  if (row < M && column < N) to[row * N + column] = 1;
}
