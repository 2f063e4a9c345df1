// tile: 8 4
// threads: 32
// expect: 10: whether all lanes of a warp that are waited for here come depends on
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 8 + threadIdx.x / 4, column = blockIdx.x * 4 + threadIdx.x % 4;
  __shared__ float held[32];
  float sum = 0;
  for (int k = 0; k < A[threadIdx.x]; ++k) {
    held[threadIdx.x] = B[k];
    __syncwarp();
    sum += held[31 - threadIdx.x];
  }
  if (row < M && column < N) C[row * N + column] = sum;
}
