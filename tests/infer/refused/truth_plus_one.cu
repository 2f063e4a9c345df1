// tile: 16 16
// threads: 16 16
// expect: 5: nothing is stored through 'C'
// Every number that is not 0 becomes true, and true is 1.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  bool twice = true;
  twice += 1;
  if (twice + 0 == 2 && row < M && column < N) C[row * N + column] = sum;
}
