// tile: 8 16
// threads: 16 8
// any_m: yes
// shapes: 200x48 31x45 1x48 8x48 65x48 101x48
// order: columns_then_rows
// Blocks go through four tile rows at a time. The last of these may have fewer.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int rows = (M + 7) / 8, first = blockIdx.y / 4 * 4, high = min(rows - first, 4);
  const int at = blockIdx.y - first;
  const int row = (first + (at < high ? at : 0)) * 8 + threadIdx.y;
  const int column = blockIdx.x * 16 + threadIdx.x;
  if (row < M && column < N) C[row * N + column] = 1;
}
