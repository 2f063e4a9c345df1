// tile: 16 16
// threads: 16 16
// expect: 6: this switch jumps into the middle of statements
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  switch (row % 2) {
    while (true) {
      case 0:
        C[row * N + column] = 1;
      case 1:
        return;
    }
  }
}
