// tile: 16 16
// threads: 16 16
// expect: 7: the output pointer 'C' is stored to memory
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  __shared__ float* held[16];
  held[threadIdx.x] = C;
  if (row < M && column < N) held[threadIdx.y][row * N + column] = 1;
}
