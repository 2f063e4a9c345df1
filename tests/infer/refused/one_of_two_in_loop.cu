// tile: 16 16
// threads: 16 16
// expect: 13: whether this store is reached depends on
// Which of the two it is changes with every turn.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  int all = N, some = 8;
  const int* columns = &all;
  for (int k = 0; k < K; ++k) columns = A[k] < 0 ? &some : columns;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  const int last = *columns;
  if (row < M && column < last) C[row * N + column] = sum;
}
