// tile: 16 16
// threads: 16 16
// expect: 7: an address is a number here, and what is reached by that cannot be seen
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  unsigned long long at = reinterpret_cast<unsigned long long>(C);
  at = at & ~15ull;
  if (row < M && column < N) reinterpret_cast<float*>(at)[row * N + column] = 1;
}
