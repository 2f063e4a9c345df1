// tile: 16 16
// threads: 16 16
// shapes: 64x96 40x50
// expect: 8: which element of the output is read here depends on a value read from 'places'
__global__ void gemm(int M, int N, int K, float* A, float* B, float* C, const int* places) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= M || column >= N) return;
  C[row * N + column] = A[row * K] * B[column] + C[places[0]];
}
