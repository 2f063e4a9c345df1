// tile: 16 32
// threads: 32 4
// order: columns_then_rows
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int column = blockIdx.x * 32 + threadIdx.x;
  const auto put = [&](int row, float value) {
    if (row < M && column < N) C[row * N + column] = value;
  };
  const int first = blockIdx.y * 16 + threadIdx.y;
  auto step = [=](int i) { return first + 4 * i; };
  for (int i = 0; i < 4; ++i) put(step(i), A[i]);
}
