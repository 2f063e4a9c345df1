// tile: 16 16
// threads: 16 16
// expect: 7: this stores into 'counter'
__device__ int counter;
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row == 0) counter = 1;
  if (row < M && column < N) C[row * N + column] = 1;
}
