// tile: 16 16
// threads: 16 16
// expect: 9: whether this store is reached depends on a number of an unusual type
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  const unsigned __int128 most = static_cast<unsigned __int128>(0) - 1;
  if (most > 5) C[0] = 1;
  if (row < M && column < N) C[row * N + column] = sum;
}
