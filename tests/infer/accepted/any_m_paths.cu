// tile: 32 32
// threads: 32 4
// grid: columns rows
// any_m: yes
// shapes: 1000x96 70x101 1x96 32x96 257x96 501x96
// order: columns_then_rows
// Few rows, whole tiles, and other tiles of odd and of even m are stored in four different ways.
// Whole tiles have no guard.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  float* const to = C + row * N + column;
  if (M <= 16) {
    for (int i = threadIdx.y; i < M; i += 4)
      if (column < N) C[i * N + column] = 1;
  } else if ((blockIdx.y + 1) * 32 <= M && column < N) {
    for (int i = 0; i < 32; i += 4) to[i * N] = 2;
  } else if (M % 2 == 1) {
    for (int i = 0; i < 32; i += 4)
      if (row + i < M && column < N) to[i * N] = 3;
  } else {
    for (int i = 28; i >= 0; i -= 4)
      if (!(row + i > M - 1) && column < N) to[i * N] = 4;
  }
}
