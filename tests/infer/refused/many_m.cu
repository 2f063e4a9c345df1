// tile: 16 16
// threads: 16 16
// any_m: yes
// shapes: 800x48 70x101
// expect: 7: what this kernel does may change at more values of m than can be tried
// expect: give one m, or a smaller bound
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  int by[1024] = {};
  for (int i = 0; i < 1024; ++i) by[i] = 1;
  if (row < M && column < N && by[M & 1023] < 2) C[row * N + column] = 1;
}
