// tile: 8 4
// threads: 32 4
// order: columns_then_rows
// Warps have different numbers of turns, shuffles name halves of warps, and all lanes of a warp
// come to the same number of turns.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int lane = threadIdx.x, warp = (threadIdx.y * 32 + threadIdx.x) / 32;
  const int row = blockIdx.y * 8 + lane / 4, column = blockIdx.x * 4 + lane % 4;
  float sum = 0;
  for (int k = warp; k < K; k += 3) sum += __shfl_sync(0xffffffff, A[k], 0);
  for (int k = 0; k < K; ++k) {
    if (__any_sync(0xffffffff, A[k + lane] > 0)) sum += __shfl_xor_sync(0xffffffff, sum, 1);
  }
  for (int k = lane; k < K; k += 32) sum += __shfl_sync(~0u, B[k], 0);
  if (lane < 16)
    sum += __shfl_sync(0x0000ffff, sum, 0);
  else
    sum += __shfl_sync(0xffff0000, sum, 16);
  unsigned mine = 0xffu << (lane & 24);
  if (lane / 8 % 2 == 0) sum += __shfl_xor_sync(mine, sum, 1);
  const unsigned there = __activemask();
  if (A[lane] > 0) __syncwarp(there);
  if (warp == 0 && row < M && column < N) C[row * N + column] = sum;
}
