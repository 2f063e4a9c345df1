// tile: 8 4
// threads: 32
// expect: 10: whether all lanes of a warp that are waited for here come depends on
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 8 + threadIdx.x / 4, column = blockIdx.x * 4 + threadIdx.x % 4;
  float sum = 0;
  const unsigned all = ~0u;
  for (int k = 0; k < K; ++k) {
    if (A[k + threadIdx.x] < 0) break;
    sum += __shfl_down_sync(all, sum, 1);
  }
  if (row < M && column < N) C[row * N + column] = sum;
}
