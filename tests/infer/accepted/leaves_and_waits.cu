// tile: 16 16
// threads: 16 32
// order: columns_then_rows
// Half of the block leaves. The other half waits at a barrier that counts only its own threads.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float held[16][16];
  const int row = blockIdx.y * 16 + threadIdx.y % 16, column = blockIdx.x * 16 + threadIdx.x;
  __syncthreads();
  if (threadIdx.y >= 16) return;
  held[threadIdx.y][threadIdx.x] = 0;
  asm volatile("bar.sync 1, 256;" ::: "memory");
  if (row >= M || column >= N) return;
  float sum = held[threadIdx.y][threadIdx.x];
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  C[row * N + column] = sum;
}
