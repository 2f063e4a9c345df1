// tile: 16 16
// threads: 16 32
// order: columns_then_rows
// leaves: yes
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float held[16][16];
  const int row = blockIdx.y * 16 + threadIdx.y % 16, column = blockIdx.x * 16 + threadIdx.x;
  if (threadIdx.y < 16) {
    float sum = 0;
    for (int k = 0; k < K && row < M && column < N; ++k) sum += A[row * K + k] * B[k * N + column];
    asm volatile("bar.sync 0, 256;" ::: "memory");
    held[threadIdx.y][threadIdx.x] = sum;
    if (row < M && column < N) C[row * N + column] = sum;
  }
}
