// tile: 16 16
// threads: 16 16
// expect: 10: blocks wait for each other or add to one tile here (atomicAdd), and which of them
// It takes long to follow what leads to the store, and blocks add to a counter that the whole grid
// shares.
__device__ int turns;

__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  int x = 0;
  if (threadIdx.x == 400) atomicAdd(&turns, 1);
  for (int i = 0; i < 700; ++i)
    for (int j = 0; j < 700; ++j) x += (i ^ j) & 1;
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x + x - x;
  if (row < M && column < N) C[row * N + column + x] = 1;
}
