// tile: 16 16
// threads: 16 16
// order: columns_then_rows
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  int done = 0;
  for (int k = 0; k < K; k += 8) {
    sum += A[k];
    done += 8;
    if (k + 8 >= K && row < M && column < N) C[row * N + column + (done - K)] = sum;
  }
}
