// tile: 16 16
// threads: 16 16
// grid: columns rows 3
// expect: 10: stores outside the output: row 128, column 0
// expect: a kernel for a batch is launched for one product at a time
// One product of a batch for each z.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float* const mine = C + blockIdx.z * M * N;
  if (row < M && column < N) mine[row * N + column] = A[row * K] * B[column];
}
