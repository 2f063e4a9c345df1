// tile: 16 16
// threads: 16 16
// expect: 8: this store is in a loop whose turns cannot be counted
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K,
                     const int* counts) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  int left = counts[row];
  while (left-- > 0) C[row * N + column] = 1;
}
