// tile: 16 16
// threads: 16 16
// expect: 8: nothing is stored through 'C'
// The lambda has a copy of a structured binding.
struct Pair {
  int a, b;
};
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  Pair pair{0, 0};
  auto [first, second] = pair;
  auto was = [=] { return first; };
  first = 1;
  if (was())
    if (row < M && column < N) C[row * N + column] = sum;
}
