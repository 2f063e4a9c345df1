// tile: 32 32
// threads: 32 8
// grid: linear
// shapes: 320x192 301x170
// order: table
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int rows = (M + 31) / 32, columns = (N + 31) / 32, group = 4;
  const int block = blockIdx.x;
  const int width = group * columns;
  const int first = block / width * group;
  const int size = min(rows - first, group);
  const int tile_row = first + block % width % size;
  const int tile_column = block % width / size;
  for (int i = threadIdx.y; i < 32; i += blockDim.y) {
    const int row = tile_row * 32 + i, column = tile_column * 32 + threadIdx.x;
    if (row < M && column < N) C[row * N + column] = A[i];
  }
}
