// tile: 16 16
// threads: 16 16
// expect: 14: where this store goes depends on
// A pointer to one of two places is moved to another element of that place.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  int left[2] = {0, 1}, right[2] = {0, 0};
  const int* shift = A[0] < 0 ? left : right;
  ++shift;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  if (row < M && column < N) {
    const int first = column + *shift;
    C[row * N + first] = sum;
  }
}
