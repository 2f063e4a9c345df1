// tile: 16 16
// threads: 16 16
// expect: 10: at m=128, n=192 block (1, 0) stores into tiles (0, 0) and (0, 1)
// Every expression in a list of values is evaluated, whatever the list is for.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  const int(&list)[2] = {(C[0] = 5, 1), 2};
  if (row < M && column < N) C[row * N + column] = sum;
}
