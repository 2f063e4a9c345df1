// tile: 16 16
// threads: 16 16
// expect: 9: this switch jumps into the middle of statements
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  if (row < M && column < N) {
    switch (threadIdx.x) {
      case 99:
        if (0) {
          default:
            C[0] = 1;
        }
    }
    C[row * N + column] = sum;
  }
}
