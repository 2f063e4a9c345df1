// tile: 16 16
// threads: 16 16
// shapes: 128x192 71x101
// expect: 11: does not come here, where others wait for all that are left
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float row_of_a[16][16];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= M) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) {
    __syncthreads();
    if (threadIdx.x == 0) row_of_a[threadIdx.y][0] = A[row * K + k];
    __syncthreads();
    if (column < N) sum += row_of_a[threadIdx.y][0] * B[k * N + column];
  }
  if (column < N) C[row * N + column] = sum;
}
