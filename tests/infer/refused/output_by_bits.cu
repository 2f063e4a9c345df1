// tile: 16 16
// threads: 16 16
// expect: 10: this stores into 'A', which is not the output 'C'
// expect: a kernel without marks stores its output and nothing else
// What is an input may be another one, but it is not stored to.
#define SELECT(flag, x, y) (((-(flag)) & ((x) - (y))) + (y))

__global__ void gemm(float* A, float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  SELECT(blockIdx.x % 2 != 0, B, A)[row] = 1;
  if (row < M && column < N) C[row * N + column] = A[row * K] * B[column];
}
