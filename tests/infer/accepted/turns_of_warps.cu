// tile: 16 16
// threads: 16 16
// order: columns_then_rows
// leaves: yes
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float held[16];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K + static_cast<int>(threadIdx.y) / 8; ++k) {
    __syncthreads();
    if (threadIdx.x == 0 && k < K) held[threadIdx.y] = A[row * K + k];
    if (column < N && k < K) sum += A[row * K + k] * B[k * N + column];
  }
  if (row < M && column < N) C[row * N + column] = sum;
}
