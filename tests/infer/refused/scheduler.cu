// tile: 16 16
// threads: 16 16
// expect: this store is in a loop whose turns cannot be counted
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K,
                     const int* order) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  int tile = 0;
  while ((tile = order[tile + blockIdx.x]) > 0) {
    C[(tile / 12 * 16 + threadIdx.y) * N + tile % 12 * 16 + threadIdx.x] = 1;
  }
}
