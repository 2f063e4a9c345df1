// tile: 16 16
// threads: 16 16
// expect: 8: where this store goes depends on a value read from 'places'
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K,
                     const int* places) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  const int at = places[row];
  if (row < M && column < N) C[at * N + column] = 1;
}
