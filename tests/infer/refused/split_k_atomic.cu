// tile: 16 16
// threads: 16 16
// expect: 6: 'atomicAdd' into the output: several blocks add to one tile (split-K)
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < M && column < N) atomicAdd(&C[row * N + column], 1.0f);
}
