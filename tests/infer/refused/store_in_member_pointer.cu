// tile: 16 16
// threads: 16 16
// expect: 14: at m=128, n=192 block (1, 0) stores into tiles (0, 0) and (0, 1)
// The expression of an object is evaluated before its member is looked up.
struct Pair {
  float value;
};
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  Pair pair;
  (C[0] = sum, pair).*(&Pair::value);
  if (row < M && column < N) C[row * N + column] = sum;
}
