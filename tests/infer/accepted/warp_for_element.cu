// tile: 1 4
// threads: 32 4
// order: columns_then_rows
// A warp sums up one element. Lanes have different numbers of turns, but all come to the sum.
__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffff, value, step);
  return value;
}
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y, column = blockIdx.x * 4 + threadIdx.y;
  if (column >= N) return;
  float sum = 0;
  for (int k = threadIdx.x; k < K; k += 32) {
    if (A[row * K + k] == 0) continue;
    sum += A[row * K + k] * B[k * N + column];
  }
  __syncwarp();
  sum = warp_sum(sum);
  if (threadIdx.x == 0) C[row * N + column] = sum;
}
