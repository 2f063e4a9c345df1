// tile: 16 16
// threads: 16 16
// shapes: 128x192 70x101
// order: columns_then_rows
// Places are chosen by ?:, and only one choice has its side effect. Builtins inform the compiler of
// a pointer's alignment and a condition's likelihood.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  C = static_cast<float*>(__builtin_assume_aligned(C, 16));
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (__builtin_expect(row < M && column < N, 1)) {
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
    int first = row * N + column, second = first;
    (threadIdx.x & 1 ? C[first++] : C[second++]) = sum;
    if (threadIdx.x & 1) C[first - 1] = sum;
    if (!(threadIdx.x & 1)) C[first] = sum;
  }
}
