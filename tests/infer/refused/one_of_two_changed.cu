// tile: 16 16
// threads: 16 16
// expect: 13: whether this store is reached depends on
// The variables that a reference may lead to differ, and data decides between them.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  int all = N, some = N;
  int& columns = A[0] < 0 ? all : some;
  columns = 8;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  const int last = all;
  if (row < M && column < last) C[row * N + column] = sum;
}
