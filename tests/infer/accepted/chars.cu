// tile: 16 16
// threads: 16 16
// order: columns_then_rows
// Plain chars that are never negative, and chars whose sign is given or has no effect.
constexpr char kWide = 16;
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const char x = threadIdx.x, y = threadIdx.y;
  const signed char less = -1;
  const unsigned char more = 200;
  char loaded = reinterpret_cast<const char*>(A)[0];
  const int row = blockIdx.y * kWide + y, column = blockIdx.x * kWide + x;
  char* const to = reinterpret_cast<char*>(C) + 4 * (row * N + column);
  if (row < M && column < N && less < 0 && more > 'z') *reinterpret_cast<float*>(to) = loaded;
}
