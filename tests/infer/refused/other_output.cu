// tile: 16 16
// threads: 16 16
// expect: 6: this stores into 'D', which is not the output 'C'
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K, float* D) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < M && column < N) D[row * N + column] = 1;
  if (row < M && column < N) C[row * N + column] = 1;
}
