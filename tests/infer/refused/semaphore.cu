// tile: 16 16
// threads: 16 16
// expect: 6: blocks depend on each other here ('atomicAdd' on 'locks')
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K, int* locks) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (threadIdx.x == 0) atomicAdd(&locks[blockIdx.x], 1);
  if (row < M && column < N) C[row * N + column] = 1;
}
