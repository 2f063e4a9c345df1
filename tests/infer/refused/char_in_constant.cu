// tile: 16 16
// threads: 16 16
// expect: 9: whether this store is reached depends on
constexpr int byte_of(unsigned number) {
  return static_cast<char>(number);
}
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < M && column < N && byte_of(200) < 0) C[row * N + column] = 1;
}
