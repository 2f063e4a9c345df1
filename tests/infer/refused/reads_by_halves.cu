// tile: 16 16
// threads: 16 16
// expect: 15: the output pointer is in what is made another type here
union Halves {
  float* whole;
  unsigned half[2];
};
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  Halves halves;
  halves.whole = C;
  const unsigned long long at =
      static_cast<unsigned long long>(halves.half[1]) << 32 | halves.half[0];
  if (row < M && column < N) sum += reinterpret_cast<const float*>(at)[(row + 16) % M * N + column];
  if (row < M && column < N) C[row * N + column] = sum;
}
