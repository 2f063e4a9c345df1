// tile: 16 16
// threads: 16 16
// expect: 15: whether this store is reached depends on the value of 'number'
// The bits of a number, read as an integer, are another number.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K, float alpha) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  const bool odd = row % 2, inside = row < M && column < N;
  union {
    int bits;
    float value;
  } number;
  number.value = alpha;
  if (inside && (number.bits == 5 ? odd : !odd)) C[row * N + column] = sum;
  if (inside && (number.value == 5 ? !odd : odd)) C[row * N + column] = sum;
}
