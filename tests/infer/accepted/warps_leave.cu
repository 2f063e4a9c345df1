// tile: 32 32
// threads: 128
// order: columns_then_rows
// leaves: yes
// Each warp has eight rows. Warps behind the last row leave, and the others go on waiting for each
// other.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float held[4][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int first = blockIdx.y * 32 + warp * 8, column = blockIdx.x * 32 + lane;
  if (first >= M) return;
  for (int row = first; row < first + 8; ++row) {
    float sum = 0;
    for (int k = 0; k < K && row < M && column < N; ++k) sum += A[row * K + k] * B[k * N + column];
    __syncthreads();
    held[warp][lane] = sum;
    __syncthreads();
    if (row < M && column < N) C[row * N + column] = held[warp][lane];
  }
}
